// What maintenance has to do with it that a job waits.

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

struct Closed {
    std::int64_t nodes = 0;  // that the job could use but for windows
    WindowSet windows = 0;   // theirs
};

Closed find_closed(const ClusterState& state, const JobRow& job, const Group& group) {
    const Shape& shape = state.shapes().at(group.shape);
    const PlacementRules& rules = state.shapes().constraint(shape.constraint).rules;
    Closed out;
    for (const std::uint32_t slot : state.calendar().nodes) {
        const NodeRow& node = state.node(NodeId{slot});
        const WindowSet windows = node.windows & group.barred;
        if (windows == 0 || node.pool != job.pool) continue;
        if (first_refusal(rules, node.facts) != NodeRefusal::none) continue;
        ++out.nodes;
        out.windows |= windows;
    }
    return out;
}

// The window that is over first.
std::size_t first_over(const ClusterState& state, WindowSet windows) {
    const auto& all = state.policy().windows;
    std::size_t best = all.size();
    for (std::size_t i = 0; i < kWindowsMaximum; ++i) {
        if ((windows >> i & 1U) == 0) continue;
        const auto end = [&](std::size_t at) { return next_occurrence(all[at], state.now()).end; };
        if (best == all.size() || end(i) < end(best)) best = i;
    }
    return best;
}

// "maintenance rack-7", "reservation paper (for queue research and namespace team-a)"
std::string named(const MaintenanceWindow& window) {
    if (!window.is_reservation()) return "maintenance " + window.name;
    std::string whom;
    const auto add = [&whom](const char* what, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            whom += (whom.empty() ? "" : " and ") + std::string{what} + name;
        }
    };
    add("queue ", window.queues);
    add("namespace ", window.tenants);
    return "reservation " + window.name + " (for " + whom + ")";
}

std::string needs(const Stay& stay, const MaintenanceWindow& window) {
    if (stay.least != Drain::none && window.drain >= stay.least) {
        return ", and it would be stopped for that at once";
    }
    if (stay.time == Duration{}) return ", and nobody knows how long it runs (maxRunTime)";
    return ", and it may run for " + span(stay.time);
}

}  // namespace

Explanation explain_maintenance(const ClusterState& state, const JobRow& job, const Group& group,
                                const Stay& stay, Explanation refusal,
                                const std::optional<Explanation>& anyway) {
    const Closed closed = find_closed(state, job, group);
    if (closed.nodes == 0) return refusal;
    const MaintenanceWindow& window = state.policy().windows[first_over(state, closed.windows)];
    const Occurrence next = next_occurrence(window, state.now());
    const bool has_begun = next.begin <= state.now();
    const std::string nodes = count(closed.nodes, "node", "nodes");
    std::string story = named(window);
    if (has_begun) {
        story += " keeps " + nodes + " closed for another " + span(next.end - state.now());
    } else {
        story += " closes " + nodes + " in " + span(next.begin - state.now()) + " for " +
                 span(window.length) + needs(stay, window);
    }
    const bool is_none_left =
        refusal.reason == Reason::no_matching_node || refusal.reason == Reason::never_fits;
    Explanation out = std::move(refusal);
    if (!anyway || (is_none_left && anyway->reason != out.reason)) {
        out.reason = window.is_reservation() ? Reason::set_aside : Reason::maintenance;
        out.subject = window.name;
        out.sentence =
            asks_for(state.capacity(), state.shapes().at(group.shape), group.ranks) + "; " + story;
        if (anyway) out.sentence += "; also without it there would be no room now";
    } else {
        out.sentence += "; " + story;
    }
    out.figures.push_back({"nodes_closed", closed.nodes});
    const Instant begin = std::max(next.begin, state.now());
    out.figures.push_back({"closed_in_ms", (begin - state.now()).ms()});
    out.figures.push_back({"closed_for_ms", (next.end - begin).ms()});
    out.figures.push_back({"run_time_ms", stay.time.ms()});
    return out;
}

}  // namespace gpuctl::explain_parts
