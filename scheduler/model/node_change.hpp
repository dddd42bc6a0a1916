#pragma once
// A change of a node that a user requests: its labels, whether it accepts new pods, whether its
// pods are evicted.

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl {

enum class NodeCordon : std::uint8_t { unchanged, cordon, uncordon };
BOOST_DESCRIBE_ENUM(NodeCordon, unchanged, cordon, uncordon)

// Nothing changes unless all conditions hold: the uid, and `expected`. A node that is so already is
// not written.
struct NodeChange {
    std::string node;
    std::string uid;                              // empty: any node of that name
    std::map<std::string, std::string> expected;  // labels that must have these values
    std::map<std::string, std::string> set;
    std::vector<std::string> remove;  // keys; a node without such a label is as wanted
    bool overwrite = false;           // else a label of `set` must not have another value
    NodeCordon cordon = NodeCordon::unchanged;
    friend auto operator<=>(const NodeChange&, const NodeChange&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeChange, (), (node, uid, expected, set, remove, overwrite, cordon))

// Changes that wait or are being carried out; more are refused.
inline constexpr std::size_t kNodeChangesMaximum = 4'096;

using NodeLabels = std::map<std::string, std::string>;

// Errors: Conflict, another node or an unexpected label; LabelConflict. The engine and the clusters
// decide by this.
Result<void> check_conditions(const NodeChange& change, std::string_view uid,
                              const NodeLabels& labels);
[[nodiscard]] bool is_as_wanted(const NodeChange& change, bool unschedulable,
                                const NodeLabels& labels);

}  // namespace gpuctl
