#pragma once
// `gpuctl migrate`: node labels with the prefixes of earlier products, and what they are called
// now.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gpuctl::cli {

struct LabelMove {
    std::string node;
    std::string from;    // g8s.host/gpuType
    std::string to;      // runwhere.ai/gpu-type
    std::string value;   // of the old label
    std::string action;  // add; present: the new label has this value; differs: another one
};

// One move for each label of an earlier product, by key. Of two old labels with one new name the
// first is added.
std::vector<LabelMove> plan_label_moves(const std::string& node, const nlohmann::json& labels,
                                        const std::string& prefix);

}  // namespace gpuctl::cli
