#include "scheduler/model/node_change.hpp"

#include <algorithm>

namespace gpuctl {

Result<void> check_conditions(const NodeChange& change, std::string_view uid,
                              const NodeLabels& labels) {
    const std::string doing = "change node " + change.node + ": ";
    if (!change.uid.empty() && change.uid != uid) {
        return make_error(ErrorCode::Conflict,
                          doing + "it is another node of that name by now; read it again");
    }
    for (const auto& [key, value] : change.expected) {
        const auto found = labels.find(key);
        if (found != labels.end() && found->second == value) continue;
        return make_error(ErrorCode::Conflict,
                          doing + "its label " + key + " is " +
                              (found == labels.end() ? "missing" : found->second) + ", not " +
                              value + "; read the node again");
    }
    for (const auto& [key, value] : change.set) {
        const auto found = labels.find(key);
        if (change.overwrite || found == labels.end() || found->second == value) continue;
        return make_error(ErrorCode::LabelConflict, doing + "its label " + key + " is " +
                                                        found->second + ", not " + value +
                                                        "; overwrite it with --overwrite "
                                                        "(overwrite: true)");
    }
    return {};
}

bool is_as_wanted(const NodeChange& change, bool unschedulable, const NodeLabels& labels) {
    if (change.cordon != NodeCordon::unchanged &&
        unschedulable != (change.cordon == NodeCordon::cordon))
        return false;
    const bool has_all = std::all_of(change.set.begin(), change.set.end(), [&](const auto& label) {
        const auto found = labels.find(label.first);
        return found != labels.end() && found->second == label.second;
    });
    return has_all && std::none_of(change.remove.begin(), change.remove.end(),
                                   [&](const std::string& key) { return labels.contains(key); });
}

}  // namespace gpuctl
