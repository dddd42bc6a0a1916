#include "scheduler/model/policy/maintenance.hpp"

#include <algorithm>

#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

Occurrence next_occurrence(const MaintenanceWindow& window, Instant from) {
    if (window.length <= Duration{}) return {};
    Instant begin = window.begin;
    if (window.every > Duration{} && from > begin) {
        begin = begin + window.every * ((from - begin).ms() / window.every.ms());
        if (begin + window.length <= from) begin = begin + window.every;
    }
    if (begin + window.length <= from) return {};
    return {begin, begin + window.length};
}

bool covers(const MaintenanceWindow& window, const NodeFacts& node) {
    if (!window.pool.empty() && window.pool != node.pool) return false;
    if (!window.nodes.empty() &&
        std::find(window.nodes.begin(), window.nodes.end(), node.name) == window.nodes.end()) {
        return false;
    }
    return std::all_of(window.labels.begin(), window.labels.end(), [&node](const auto& wanted) {
        const auto found = node.labels.find(wanted.first);
        return found != node.labels.end() && found->second == wanted.second;
    });
}

bool is_stopped_by(Drain drain, const PodFacts& pod) {
    if (!pod.has_controller) return false;
    return drain == Drain::all || (drain == Drain::preemptible && pod.preemptible);
}

}  // namespace gpuctl
