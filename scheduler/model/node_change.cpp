#include "scheduler/model/node_change.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

// The label in the way, and its value; wording/ makes a sentence of it.
Error conflict(ErrorCode code, const std::string& key, const std::string& found) {
    return {code, {}, {{{key, 0, 0}, found}}};
}

}  // namespace

Result<void> check_conditions(const NodeChange& change, std::string_view uid,
                              const NodeLabels& labels) {
    if (!change.uid.empty() && change.uid != uid) return Error{ErrorCode::Conflict, {}, {}};
    for (const auto& [key, value] : change.expected) {
        const auto found = labels.find(key);
        if (found != labels.end() && found->second == value) continue;
        return conflict(ErrorCode::Conflict, key, found == labels.end() ? "" : found->second);
    }
    for (const auto& [key, value] : change.set) {
        const auto found = labels.find(key);
        if (change.overwrite || found == labels.end() || found->second == value) continue;
        return conflict(ErrorCode::LabelConflict, key, found->second);
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
