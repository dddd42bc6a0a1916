#pragma once
// `gpuctl migrate`: labels with the prefixes of earlier products, and what they are called now.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gpuctl::cli {

struct LabelMove {
    std::string kind = "Node";   // of the object
    std::string namespace_name;  // empty: of a node
    std::string name;
    std::string from;    // g8s.host/gpuType
    std::string to;      // runwhere.ai/gpu-type
    std::string value;   // of the old label
    std::string action;  // add; present: the new label has this value; differs: another one; remove
    std::string message = {};  // why it failed
};

// One move for each label of an earlier product, by key. Of two old labels with one new name the
// first is added. With `removes_old` a move `remove` follows where the new label has the value.
std::vector<LabelMove> plan_label_moves(const std::string& node, const nlohmann::json& labels,
                                        const std::string& prefix, bool removes_old = false);

}  // namespace gpuctl::cli
