#include "scheduler/plan/preempt/eviction_search.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "scheduler/base/wide.hpp"
#include "scheduler/model/policy/preemption_cost.hpp"
#include "scheduler/plan/preempt/cheapest_nodes.hpp"
#include "scheduler/plan/preempt/eviction_trial.hpp"
#include "scheduler/plan/preempt/node_bounds.hpp"
#include "scheduler/plan/preempt/preempt.hpp"
#include "scheduler/state/accounts/quota.hpp"

namespace gpuctl {

namespace {

bool goes_before_another(const Units& units, std::size_t at) {
    if (!units[at]->in_order) return false;
    return std::any_of(
        units.begin() + static_cast<std::ptrdiff_t>(at) + 1, units.end(),
        [&](const EvictionUnit* later) { return later->in_order && later->job == units[at]->job; });
}

}  // namespace

Units EvictionSearch::narrow(EvictionTrial& trial, const Units& units, NodeId node) {
    std::size_t lifted = 0;
    const auto lift_first = [&](std::size_t count) {
        while (lifted < count) trial.lift(*units[lifted++]);
        while (lifted > count) trial.put_back(*units[--lifted]);
    };
    std::size_t too_few = 0;
    std::size_t enough = std::min<std::size_t>(1, units.size());
    for (;; enough = std::min(2 * enough, units.size())) {
        lift_first(enough);
        if (enough > 0 && trial.fits(node)) break;
        too_few = enough;
        if (enough < units.size()) continue;
        lift_first(0);
        return {};
    }
    while (enough - too_few > 1) {
        const std::size_t middle = too_few + (enough - too_few) / 2;
        lift_first(middle);
        (trial.fits(node) ? enough : too_few) = middle;
    }
    lift_first(enough);
    Units chosen(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(enough));
    // Tries without each of the units, the most expensive first. The last unit is necessary,
    // because one unit fewer was not sufficient.
    for (std::size_t i = enough - 1; i-- > 0;) {
        if (goes_before_another(chosen, i)) continue;
        trial.put_back(*chosen[i]);
        if (trial.fits(node)) {
            chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            trial.lift(*chosen[i]);
        }
    }
    for (const EvictionUnit* unit : chosen) trial.put_back(*unit);
    return chosen;
}

namespace {

std::int64_t weight(const Units& units) {
    std::int64_t sum = 0;
    for (const EvictionUnit* unit : units) sum += unit->weight;
    return sum;
}

bool is_cheaper_for_a_gpu(const EvictionUnit* a, const EvictionUnit* b) {
    const auto gpus = [](const EvictionUnit* unit) {
        return std::max<std::int64_t>(unit->gpus.value(), 1);
    };
    return static_cast<Wide>(a->weight) * gpus(b) < static_cast<Wide>(b->weight) * gpus(a);
}

bool is_better(const Units& a, const Units& b) {
    if (a.empty() || b.empty()) return !a.empty();
    if (weight(a) != weight(b)) return weight(a) < weight(b);
    return a.size() < b.size();
}

}  // namespace

// The order by price may give many small victims although one large victim is cheaper than all of
// them, so the order by price per GPU is tried, too. Fractions of GPUs help only on one device, so
// the units of each device are tried first. Units in a fixed order (ranks of an elastic job) keep
// that order.
Units EvictionSearch::narrow_on_node(EvictionTrial& trial, Units units, NodeId node) {
    Units best = narrow(trial, units, node);
    const auto goes_in_order = [](const EvictionUnit* unit) { return unit->in_order; };
    if (best.empty() || std::any_of(units.begin(), units.end(), goes_in_order)) return best;
    const auto try_order = [&] {
        Units found = narrow(trial, units, node);
        if (is_better(found, best)) best = std::move(found);
    };
    const auto is_of_another_size = [&](const EvictionUnit* unit) {
        return unit->gpus != units.front()->gpus;
    };
    // Weights by remaining work are no prices: the largest weight is evicted first for a reason.
    const auto is_by_cost = [](const EvictionUnit* unit) {
        return unit->weight == unit->cost_gpu_ms;
    };
    if (std::any_of(units.begin(), units.end(), is_of_another_size) &&
        std::all_of(units.begin(), units.end(), is_by_cost)) {
        std::stable_sort(units.begin(), units.end(), is_cheaper_for_a_gpu);
        try_order();
    }
    for (const std::int32_t device : devices_of(trial.state(), units, node)) {
        std::stable_partition(units.begin(), units.end(), [&](const EvictionUnit* unit) {
            return is_on_device(trial.state(), *unit, node, device);
        });
        try_order();
    }
    return best;
}

// Examines the nodes by their bounds, the best first, until no remaining node can be better than
// the best result. `units_on` returns the units on a node, with the units that must be evicted
// before one of them.
template <typename UnitsOn>
Units EvictionSearch::narrow_by_node(EvictionTrial& trial, std::vector<NodeBound> bounds,
                                     const UnitsOn& units_on) {
    std::make_heap(bounds.begin(), bounds.end(), std::greater<>{});
    Units best;
    NodeBound reached{INT64_MAX, SIZE_MAX, NodeId::none()};
    while (!bounds.empty() && bounds.front() < reached) {
        const NodeId node = bounds.front().node;
        std::pop_heap(bounds.begin(), bounds.end(), std::greater<>{});
        bounds.pop_back();
        Units found = narrow_on_node(trial, units_on(node), node);
        const NodeBound here{weight(found), found.size(), node};
        if (found.empty() || reached < here) continue;
        best = std::move(found);
        reached = here;
    }
    return best;
}

Units EvictionSearch::narrow_by_node(EvictionTrial& trial, const Units& units) {
    const UnitsByNode by_node{trial.state(), units};
    return narrow_by_node(trial,
                          bounds_of(trial.state(), trial.pool(), trial.shape(), by_node, units),
                          [&](NodeId node) { return by_node.with_those_before(node); });
}

// Doubles the number of ranks each time, because the cheapest units may be on nodes that the job
// may not use.
Units EvictionSearch::narrow_for_gang(EvictionTrial& trial, const Units& units) {
    const bool has_rows = std::any_of(units.begin(), units.end(),
                                      [](const EvictionUnit* unit) { return unit->in_order; });
    if (!trial.counts_ranks() || has_rows) return narrow(trial, units, NodeId::none());
    const CheapestNodes nodes{trial.state(), trial.allowed(), trial.shape(), units};
    for (std::int64_t ranks = trial.ranks_missing(); ranks < nodes.ranks(); ranks *= 2) {
        const Units some = nodes.for_ranks(ranks);
        if (some.size() == units.size()) break;
        Units chosen = narrow(trial, some, NodeId::none());
        if (!chosen.empty()) return chosen;
        if (ranks <= 0) break;
    }
    return narrow(trial, units, NodeId::none());
}

Units EvictionSearch::choose(EvictionTrial& trial, const Units& units) {
    if (!trial.is_one_pod()) return narrow_for_gang(trial, units);
    // A limit may require other victims than a lack of room does.
    if (!trial.is_limited() && !trial.has_wishes()) return narrow_by_node(trial, units);
    Units chosen = narrow(trial, units, NodeId::none());
    if (chosen.empty()) return chosen;
    Units cheaper = narrow_by_node(trial, units);
    return is_better(cheaper, chosen) ? cheaper : chosen;
}

namespace {

Duration longest_grace(const ClusterState& state, const EvictionUnit& unit) {
    Duration longest;
    for (const PodId pod : unit.pods) longest = std::max(longest, state.pod(pod).facts.stop_grace);
    return longest;
}

Duration longest_grace(const ClusterState& state, const Units& units) {
    Duration longest;
    for (const EvictionUnit* unit : units) longest = std::max(longest, longest_grace(state, *unit));
    return longest;
}

// The shortest grace period of the units; 0 if there is none.
Duration shortest_grace(const ClusterState& state, const Units& units) {
    std::optional<Duration> shortest;
    for (const EvictionUnit* unit : units) {
        const Duration grace = longest_grace(state, *unit);
        shortest = std::min(shortest.value_or(grace), grace);
    }
    return shortest.value_or(Duration{});
}

}  // namespace

bool EvictionSearch::find(const Overlay& overlay, JobId job, const std::vector<PodId>& pods,
                          const Candidates& candidates, Reservation* withheld, EvictionPlan& out) {
    const ClusterState& state = overlay.state;
    Units units;
    for (const EvictionUnit& unit : candidates.units) units.push_back(&unit);
    std::vector<PodId> terminating_pods = candidates.terminating_pods;
    add_terminating_of_other_pools(state, state.job(job).tenant, state.job(job).pool,
                                   terminating_pods);
    const auto search = [&](const Units& among, Duration grace) {
        EvictionTrial trial{overlay, placer_, log_, job, pods};
        for (const PodId pod : terminating_pods) trial.lift(pod);
        // Withheld after the release of terminating pods: the reservation may leave a part of what
        // they release.
        std::optional<Withholding> kept;
        if (withheld != nullptr)
            kept.emplace(overlay.capacity, withheld->reserved_amounts(overlay.capacity.read()));
        trial.recount_columns();
        if (trial.fits(NodeId::none())) return false;  // the job only has to wait
        trial.wait_for(grace);
        return write_plan(trial, choose(trial, among), out);
    };
    if (!state.maintenance.has_windows())
        return search(units, Duration{});  // no window depends on the grace period
    // The grace period of the chosen victims is known only when they are chosen. Near a window it
    // may be too long, and other victims are chosen.
    const Duration shortest = shortest_grace(state, units);
    if (search(units, shortest)) return true;
    const Duration longest = longest_grace(state, units);
    if (longest == shortest) return false;
    std::erase_if(units,
                  [&](const EvictionUnit* unit) { return longest_grace(state, *unit) > shortest; });
    if (search(units, shortest)) return true;
    units.clear();
    for (const EvictionUnit& unit : candidates.units) units.push_back(&unit);
    return search(units, longest);
}

bool EvictionSearch::find_of_lower_priority(const Overlay& overlay, JobId id, PodId pod,
                                            EvictionPlan& out) {
    const ClusterState& state = overlay.state;
    const JobRow& job = state.job(id);
    const std::vector<PodId> pods{pod};
    EvictionTrial trial{overlay, placer_, log_, id, pods};
    std::vector<PodId> terminating_pods;
    state.pods.read_terminating(job.pool, terminating_pods);
    add_terminating_of_other_pools(state, job.tenant, job.pool, terminating_pods);
    for (const PodId one : terminating_pods) trial.lift(one);
    if (trial.is_limited() || trial.has_wishes() || trial.fits(NodeId::none())) return false;
    trial.wait_for(Duration{});  // the windows of the units are checked at the end
    // candidates of the examined nodes; a deque, because units must keep their addresses
    std::deque<Candidates> read;
    const Units chosen =
        narrow_by_node(trial, bounds_below(state, trial.shape(), job), [&](NodeId node) {
            find_candidates_on(
                state, node, [&](const JobRow& other) { return preempt::may_stop(job, other); },
                read.emplace_back(), Consent::by_priority);
            Units units;
            for (const EvictionUnit& unit : read.back().units) units.push_back(&unit);
            return units;
        });
    return write_plan(trial, chosen, out);
}

bool EvictionSearch::fits_after_eviction(const Overlay& overlay, JobId job,
                                         const std::vector<PodId>& pods, const EvictionUnit& own) {
    const ClusterState& state = overlay.state;
    EvictionTrial trial{overlay, placer_, log_, job, pods};
    trial.wait_for(longest_grace(state, own));
    trial.lift(own);
    return trial.fits(NodeId::none());
}

bool EvictionSearch::write_plan(EvictionTrial& trial, const Units& chosen, EvictionPlan& out) {
    if (chosen.empty()) return false;
    trial.wait_for(longest_grace(trial.state(), chosen));
    for (const EvictionUnit* unit : chosen) trial.lift(*unit);
    if (!trial.fits(NodeId::none())) return false;
    out.round = trial.round();
    out.victims.clear();
    const ClusterState& state = trial.state();
    for (const EvictionUnit* unit : chosen) {
        for (const PodId id : unit->pods) {
            const PodRow& pod = state.pod(id);
            out.victims.push_back(
                {id, lost_gpu_ms(pod.facts, state.shape_of(pod).gpus, state.now())});
        }
    }
    return true;
}

}  // namespace gpuctl
