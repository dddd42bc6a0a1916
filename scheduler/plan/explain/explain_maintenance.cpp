// Explains the effect of maintenance on a waiting job.

#include <algorithm>
#include <array>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

// The largest number of windows that an explanation names; windows that end first are named.
constexpr std::size_t kWindowsNamed = 3;

struct Bar {
    std::size_t window = 0;  // index in the policy
    Occurrence next;
    std::int64_t nodes = 0;  // nodes that it closes, even if other windows close them, too
};

struct Closed {
    std::int64_t nodes = 0;  // nodes that only windows close to the job; each node counts once
    std::vector<Bar> bars;   // windows that close any of these nodes, the first to end first
};

using NodesByWindow = std::array<std::int64_t, kWindowsMaximum>;

std::vector<Bar> bars_of(const ClusterState& state, const NodesByWindow& nodes) {
    std::vector<Bar> out;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] == 0) continue;
        out.push_back({i, next_occurrence(state.policy().windows[i], state.now()), nodes[i]});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Bar& a, const Bar& b) { return a.next.end < b.next.end; });
    return out;
}

Closed find_closed(const ClusterState& state, const JobRow& job, const Group& group) {
    const Shape& shape = state.shape_of(group.shape);
    const PlacementRules& rules = state.rules_of(shape);
    Closed out;
    NodesByWindow by_window{};
    for (const std::uint32_t slot : state.maintenance.calendar().nodes) {
        const NodeRow& node = state.node(NodeId{slot});
        const WindowSet windows = node.windows & group.barred;
        if (windows == 0 || node.pool != job.pool) continue;
        if (first_refusal(rules, node.facts) != NodeRefusal::none) continue;
        ++out.nodes;
        for (std::size_t i = 0; i < by_window.size(); ++i) {
            if ((windows >> i & 1U) != 0) ++by_window[i];
        }
    }
    out.bars = bars_of(state, by_window);
    return out;
}

fact::WindowConflict conflict_of(const Stay& stay, const MaintenanceWindow& window) {
    if (stay.least != Drain::none && window.drain >= stay.least) {
        return fact::WindowConflict::stops_it_at_once;
    }
    return stay.time == Duration{} ? fact::WindowConflict::run_time_unknown
                                   : fact::WindowConflict::run_time;
}

fact::WindowClosed window_of(const ClusterState& state, const Bar& bar, const Stay& stay) {
    const MaintenanceWindow& window = state.policy().windows[bar.window];
    fact::WindowClosed out;
    out.name = window.name;
    out.is_reservation = window.is_reservation();
    out.queues = window.queues;
    out.tenants = window.tenants;
    out.nodes = bar.nodes;
    out.has_begun = bar.next.begin <= state.now();
    if (out.has_begun) {
        out.lasts = bar.next.end - state.now();
    } else {
        out.begins_in = bar.next.begin - state.now();
        out.lasts = window.length;
        out.conflict = conflict_of(stay, window);
    }
    return out;
}

fact::WindowsClosed windows_of(const ClusterState& state, const Closed& closed, const Stay& stay) {
    fact::WindowsClosed out;
    out.nodes = closed.nodes;
    out.windows = static_cast<std::int64_t>(closed.bars.size());
    out.run_time = stay.time;
    for (std::size_t i = 0; i < std::min(closed.bars.size(), kWindowsNamed); ++i) {
        out.first.push_back(window_of(state, closed.bars[i], stay));
    }
    return out;
}

// The times are those of the window that ends first, and so is the number of nodes that it closes.
void add_figures(const ClusterState& state, const Closed& closed, const Stay& stay,
                 std::vector<Figure>& figures) {
    const Bar& first = closed.bars.front();
    const Instant begin = std::max(first.next.begin, state.now());
    figures.push_back({"nodes_closed", closed.nodes});
    figures.push_back({"windows", static_cast<std::int64_t>(closed.bars.size())});
    figures.push_back({"nodes_closed_by_first", first.nodes});
    figures.push_back({"closed_in_ms", (begin - state.now()).ms()});
    figures.push_back({"closed_for_ms", (first.next.end - begin).ms()});
    figures.push_back({"run_time_ms", stay.time.ms()});
}

}  // namespace

Explanation explain_maintenance(const ClusterState& state, const JobRow& job, const Group& group,
                                const Stay& stay, Explanation refusal,
                                const std::optional<Explanation>& anyway) {
    const Closed closed = find_closed(state, job, group);
    if (closed.nodes == 0) return refusal;
    const MaintenanceWindow& first = state.policy().windows[closed.bars.front().window];
    fact::WindowsClosed windows = windows_of(state, closed, stay);
    const bool is_none_left =
        refusal.reason == Reason::no_matching_node || refusal.reason == Reason::never_fits;
    Explanation out = std::move(refusal);
    if (!anyway || (is_none_left && anyway->reason != out.reason)) {
        out.reason = first.is_reservation() ? Reason::set_aside : Reason::maintenance;
        out.subject = first.name;
        windows.is_short_without = anyway.has_value();
        out.facts = {request_of(state.nodes.capacity(), state.shape_of(group.shape), group.ranks)};
    }
    out.facts.push_back(std::move(windows));
    add_figures(state, closed, stay, out.figures);
    return out;
}

}  // namespace gpuctl::explain_parts
