// What maintenance has to do with it that a job waits.

#include <algorithm>
#include <array>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/policy/filter.hpp"

namespace gpuctl::explain_parts {
namespace {

// A sentence names no more windows than these, those that are over first.
constexpr std::size_t kWindowsNamed = 3;

struct Bar {
    std::size_t window = 0;  // its place in the policy
    Occurrence next;
    std::int64_t nodes = 0;  // that it closes, whatever others close them, too
};

struct Closed {
    std::int64_t nodes = 0;  // that the job could use but for windows; each counts once
    std::vector<Bar> bars;   // by windows that close any of them, the first to be over first
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
    const Shape& shape = state.shapes().at(group.shape);
    const PlacementRules& rules = state.shapes().constraint(shape.constraint).rules;
    Closed out;
    NodesByWindow by_window{};
    for (const std::uint32_t slot : state.calendar().nodes) {
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

// "maintenance rack-7 keeps 2 nodes closed for another 24s"
std::string story_of(const ClusterState& state, const Bar& bar) {
    const MaintenanceWindow& window = state.policy().windows[bar.window];
    const std::string nodes = count(bar.nodes, "node", "nodes");
    if (bar.next.begin <= state.now()) {
        return named(window) + " keeps " + nodes + " closed for another " +
               span(bar.next.end - state.now());
    }
    return named(window) + " closes " + nodes + " in " + span(bar.next.begin - state.now()) +
           " for " + span(window.length);
}

// Each window with its own nodes: one that is over soon does not open those of another.
std::string story_of(const ClusterState& state, const Closed& closed, const Stay& stay) {
    const std::size_t told = std::min(closed.bars.size(), kWindowsNamed);
    std::string story;
    if (closed.bars.size() > 1) {
        story = "windows bar " + count(closed.nodes, "node", "nodes") + ": ";
    }
    std::string need_told;
    for (std::size_t i = 0; i < told; ++i) {
        const Bar& bar = closed.bars[i];
        story += (i == 0 ? "" : "; ") + story_of(state, bar);
        if (bar.next.begin <= state.now()) continue;
        const std::string need = needs(stay, state.policy().windows[bar.window]);
        if (need != need_told) story += need;
        need_told = need;
    }
    const auto more = static_cast<std::int64_t>(closed.bars.size() - told);
    return more == 0 ? story : story + "; and " + count(more, "more window", "more windows");
}

// The times are of the window that is over first, and so is what it closes of all that is closed.
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
    const std::string story = story_of(state, closed, stay);
    const bool is_none_left =
        refusal.reason == Reason::no_matching_node || refusal.reason == Reason::never_fits;
    Explanation out = std::move(refusal);
    if (!anyway || (is_none_left && anyway->reason != out.reason)) {
        out.reason = first.is_reservation() ? Reason::set_aside : Reason::maintenance;
        out.subject = first.name;
        out.sentence =
            asks_for(state.capacity(), state.shapes().at(group.shape), group.ranks) + "; " + story;
        if (anyway) {
            out.sentence += closed.bars.size() == 1 ? "; also without it" : "; also without them";
            out.sentence += " there would be no room now";
        }
    } else {
        out.sentence += "; " + story;
    }
    add_figures(state, closed, stay, out.figures);
    return out;
}

}  // namespace gpuctl::explain_parts
