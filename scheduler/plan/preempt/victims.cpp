#include "scheduler/plan/preempt/victims.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/policy/preemption_cost.hpp"

namespace gpuctl {
namespace {

bool is_willing_to_stop(const ClusterState& state, const PodRow& pod, Consent consent) {
    if (pod.facts.preemptible || has_fault(SeededFault::preempt_the_unwilling)) return true;
    switch (consent) {
        case Consent::needed:
            return has_fault(SeededFault::reclaim_by_priority) &&
                   state.evictions.may_be_preempted(pod);
        case Consent::by_priority:
            return !has_fault(SeededFault::preempt_only_the_low) &&
                   state.evictions.may_be_preempted(pod);
        case Consent::not_needed:
            return true;
    }
    return false;
}

}  // namespace

void EvictionUnit::add(const ClusterState& state, PodId id) {
    const PodRow& pod = state.pod(id);
    const GpuMilli of_pod = state.shape_of(pod).gpus;
    pods.push_back(id);
    gpus += of_pod;
    cost_gpu_ms += lost_gpu_ms(pod.facts, of_pod, state.now());
    placed_at = std::max(placed_at, pod.bind.placed_at);
}

StopCheck may_be_evicted(const ClusterState& state, const PodRow& pod, Consent consent) {
    const bool is_willing = is_willing_to_stop(state, pod, consent);
    if (!is_willing && pod.facts.preemptible_is_default) return {StopBar::unsaid, {}};
    if (!is_willing) return {StopBar::unwilling, {}};
    if (!pod.facts.has_controller) return {StopBar::bare, {}};
    // On a node that is gone or does not answer, the time until pods have terminated is unknown.
    const NodeRow& node = state.node(pod.node);
    const bool is_settled = pod.bind.state == BindState::bound &&
                            pod.eviction.state == EvictionState::none &&
                            !pod.bind.delete_in_flight && node.known && node.facts.ready;
    if (!is_settled) return {StopBar::not_now, {}};
    const Instant began = std::max(pod.bind.placed_at, pod.facts.started_at);
    const Instant from = began + state.policy().run_time_protected;
    if (pod.eviction.spared_until > std::max(from, state.now()))
        return {StopBar::spared, pod.eviction.spared_until};
    if (from > state.now()) return {StopBar::protected_yet, from};
    return {StopBar::none, std::max(pod.eviction.spared_until, from)};
}

namespace {

// The time until which the pod must not be evicted; absent: it may never be evicted in its present
// state.
using Protection = std::optional<Instant>;

Protection protected_until(const ClusterState& state, const PodRow& pod, Consent consent) {
    const StopCheck check = may_be_evicted(state, pod, consent);
    const bool ends = check.bar == StopBar::none || check.bar == StopBar::spared ||
                      check.bar == StopBar::protected_yet;
    return ends ? Protection{check.until} : std::nullopt;
}

// Adds all running ranks of the gang. Absent if one of them may not be evicted.
Protection read_gang(const ClusterState& state, const JobRow& job, Consent consent,
                     EvictionUnit& unit) {
    if (!has_started(job.gang.phase())) return std::nullopt;
    Instant until;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (!pod.node.exists() || pod.facts.terminating || pod.is_surplus) continue;
        const Protection found = protected_until(state, pod, consent);
        if (!found) return std::nullopt;
        until = std::max(until, *found);
        unit.add(state, id);
        if (has_fault(SeededFault::preempt_half_a_gang)) break;
    }
    return until;
}

Protection read_unit(const ClusterState& state, PodId id, bool is_gang, Consent consent,
                     EvictionUnit& unit) {
    const PodRow& pod = state.pod(id);
    const JobRow& job = state.job(pod.job);
    unit.job = pod.job;
    const Protection budget = state.evictions.evictable_from(pod, is_gang);
    if (!budget) return std::nullopt;
    Protection own;
    if (is_gang) {
        own = read_gang(state, job, consent, unit);
    } else {
        own = protected_until(state, pod, consent);
        unit.add(state, id);
    }
    if (!own) return std::nullopt;
    return std::max(*own, *budget);
}

}  // namespace

// Sorts separate keys, because a hundred thousand units are too large to move.
void sort_by_cost(const ClusterState& state, std::vector<EvictionUnit>& units) {
    struct Key {
        std::int64_t cost_gpu_ms;
        GpuMilli gpus;
        Instant placed_at;
        std::uint32_t position;
    };
    std::vector<Key> keys;
    keys.reserve(units.size());
    for (const EvictionUnit& unit : units) {
        keys.push_back(
            {unit.cost_gpu_ms, unit.gpus, unit.placed_at, static_cast<std::uint32_t>(keys.size())});
    }
    const auto name_of = [&](const Key& key) -> const ObjectKey& {
        return state.pod(units[key.position].pods.front()).facts.key;
    };
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        if (a.cost_gpu_ms != b.cost_gpu_ms) return a.cost_gpu_ms < b.cost_gpu_ms;
        if (a.gpus != b.gpus) return a.gpus < b.gpus;
        if (a.placed_at != b.placed_at) return a.placed_at > b.placed_at;
        return name_of(a) < name_of(b);
    });
    std::vector<EvictionUnit> sorted;
    sorted.reserve(units.size());
    for (const Key& key : keys) sorted.push_back(std::move(units[key.position]));
    units = std::move(sorted);
}

namespace {

// `gangs`: gangs that were added already.
void read_node(const ClusterState& state, NodeId on,
               const std::function<bool(const JobRow&)>& may_stop, Consent consent,
               std::set<JobId>& gangs, Candidates& out) {
    for (const PodId id : state.node(on).pods) {
        const PodRow& pod = state.pod(id);
        if (pod.is_terminating() || !pod.job.exists() || pod.bind.state != BindState::bound)
            continue;
        const JobRow& job = state.job(pod.job);
        if (gangs.contains(pod.job) || !may_stop(job)) continue;
        const bool is_gang = state.gangs.gang_size(job).has_value();  // visits each of its pods
        if (is_gang) gangs.insert(pod.job);
        EvictionUnit unit;
        const Protection until = read_unit(state, id, is_gang, consent, unit);
        if (!until) continue;
        if (*until <= state.now()) {
            unit.weight = unit.cost_gpu_ms;
            out.units.push_back(std::move(unit));
        } else {
            out.note_look_again(*until);
        }
    }
}

}  // namespace

void find_candidates(const ClusterState& state, PoolId pool,
                     const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                     Consent consent) {
    out.units.clear();
    out.look_again_at = Instant{};
    state.pods.read_terminating(pool, out.terminating_pods);
    std::set<JobId> gangs;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        read_node(state, NodeId{slot}, may_stop, consent, gangs, out);
    }
    sort_by_cost(state, out.units);
}

void find_candidates_on(const ClusterState& state, NodeId node,
                        const std::function<bool(const JobRow&)>& may_stop, Candidates& out,
                        Consent consent) {
    out.units.clear();
    std::set<JobId> gangs;
    read_node(state, node, may_stop, consent, gangs, out);
    sort_by_cost(state, out.units);
}

namespace {

// The longest grace period of pods on the pool's nodes that `may_go` accepts.
template <typename MayGo>
Duration longest_grace(const ClusterState& state, PoolId pool, MayGo may_go) {
    Duration longest;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        for (const PodId id : state.node(NodeId{slot}).pods) {
            const PodRow& pod = state.pod(id);
            const JobRow* const job = pod.job.exists() ? &state.job(pod.job) : nullptr;
            if (may_go(pod, job)) longest = std::max(longest, pod.facts.stop_grace);
        }
    }
    return longest;
}

}  // namespace

Duration longest_nomination(const ClusterState& state, const JobRow& by) {
    const auto may_go_here = [&state](const PodRow& pod, const JobRow* job) {
        return state.evictions.may_be_preempted(pod) || pod.is_terminating() ||
               (job != nullptr && (ElasticJobs::is_elastic(*job) || yields(job->gang.phase())));
    };
    // Pods elsewhere that use the quota of the job's namespace.
    const auto may_go_elsewhere = [&by](const PodRow& pod, const JobRow* job) {
        return job != nullptr && job->tenant == by.tenant &&
               (pod.is_terminating() || ElasticJobs::is_elastic(*job));
    };
    Duration longest = longest_grace(state, by.pool, may_go_here);
    if (!state.tenant(by.tenant).has_quota()) return nomination_lasts(longest);
    for (const auto& [name, other] : state.tree.pools_by_name()) {
        if (other == by.pool) continue;
        longest = std::max(longest, longest_grace(state, other, may_go_elsewhere));
    }
    return nomination_lasts(longest);
}

bool loses_its_turn(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    return std::any_of(job.pods.begin(), job.pods.end(), [&state](PodId pod) {
        return state.pod(pod).bind.state == BindState::waiting;
    });
}

RoomOnceGone::RoomOnceGone(const ClusterState& state, PoolId pool, const Candidates& candidates,
                           const std::vector<PodId>& pods)
    : capacity_(state.nodes.capacity()),
      nodes_(state.nodes.capacity().nodes_of(pool)),
      shape_(state.shape_of(pods.front())),
      ranks_(static_cast<std::int64_t>(pods.size())),
      is_hopeless_(candidates.units.empty()) {
    const ShapeId like = state.pod(pods.front()).shape;
    const bool is_uniform = std::all_of(pods.begin(), pods.end(),
                                        [&](PodId pod) { return state.pod(pod).shape == like; });
    if (!is_uniform || capacity_.kind(shape_.index_column) != ColumnKind::gpu) return;
    gone_.assign(state.nodes.node_slots(), 0);
    // The last fraction on a GPU releases the whole GPU.
    const auto lift = [&](PodId id) {
        const Shape& shape = state.shape_of(id);
        gone_[state.pod(id).node.value()] +=
            shape.part > GpuMilli{} ? kGpuMilliPerGpu : shape.gpus.value();
    };
    for (const PodId id : candidates.terminating_pods) lift(id);
    for (const EvictionUnit& unit : candidates.units) {
        std::for_each(unit.pods.begin(), unit.pods.end(), lift);
    }
}

std::int64_t RoomOnceGone::ranks_on(std::uint32_t slot) const {
    const std::int64_t free = capacity_.usable(shape_.index_column, slot) + gone_[slot];
    return std::max<std::int64_t>(free, 0) / std::max<std::int64_t>(shape_.gpus.value(), 1);
}

bool RoomOnceGone::may_suffice_on(NodeId node) const {
    return !is_hopeless_ && (gone_.empty() || ranks_on(node.value()) >= 1);
}

bool RoomOnceGone::may_suffice() const {
    if (is_hopeless_ || gone_.empty()) return !is_hopeless_;
    std::int64_t ranks = 0;
    for (const std::uint32_t slot : nodes_) {
        ranks += ranks_on(slot);
    }
    return ranks >= ranks_;
}

}  // namespace gpuctl
