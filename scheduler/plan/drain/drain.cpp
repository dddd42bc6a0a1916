#include "scheduler/plan/drain/drain.hpp"

#include <algorithm>
#include <map>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/plan/preempt/victims.hpp"

namespace gpuctl {
namespace {

// The largest set of pods that must leave, and why they must.
struct DrainOrder {
    Drain drain = Drain::none;
    bool has_begun = false;  // the node should be empty already
    CauseBox why;            // present if any pod must leave
};

// Pods of one job on nodes that are being drained.
struct DrainedJob {
    DrainOrder order;  // of the window with the largest set
    std::vector<PodId> pods;
};

void join(DrainOrder& all, DrainOrder one) {
    all.has_begun = all.has_begun || one.has_begun;
    if (!all.why) all.why = std::move(one.why);
    all.drain = std::max(all.drain, one.drain);
}

DrainOrder order_for(const ClusterState& state, const NodeRow& node, const PodRow& pod) {
    DrainOrder out;
    const Policy& policy = state.policy();
    if (!node.facts.unhealthy.empty() && policy.unhealthy_drain != Drain::none) {
        join(out, {policy.unhealthy_drain, true,
                   CauseBox{cause::NodeUnhealthy{node.facts.name, node.facts.unhealthy}}});
    }
    if (node.facts.draining) {
        join(out, {Drain::all, true, CauseBox{cause::NodeDrained{node.facts.name}}});
    }
    WindowSet windows = node.windows & state.maintenance.calendar().draining;
    if (windows != 0) windows &= ~reserved_for(state, state.job(pod.job));
    for (std::size_t i = 0; windows != 0 && i < kWindowsMaximum; ++i) {
        if ((windows >> i & 1U) == 0) continue;
        const MaintenanceWindow& window = policy.windows[i];
        const Occurrence next = next_occurrence(window, state.now());
        const Duration lead = std::max(window.notice, pod.facts.stop_grace);
        if (!next.end.happened() || state.now() + lead < next.begin) continue;
        // it will have ended by then
        if (pod.ends_at.happened() && pod.ends_at <= next.begin) continue;
        const bool has_begun = next.begin <= state.now();
        // Valid for as long as the job waits: a time relative to now would not be.
        cause::WindowCloses why{window.name, window.is_reservation(), has_begun};
        join(out, {window.drain, has_begun, CauseBox{std::move(why)}});
    }
    return out;
}

bool may_be_evicted(const ClusterState& state, Drain drain, const PodRow& pod) {
    if (has_fault(SeededFault::drain_the_unwilling) && drain != Drain::none) {
        drain = Drain::all;
    }
    return is_stopped_by(drain, pod.facts) && pod.eviction.spared_until <= state.now();
}

// An eviction was requested already, for any reason. Refused evictions are requested again when
// they are due.
bool is_asked(const ClusterState& state, const PodRow& pod) {
    if (pod.is_terminating() || pod.bind.delete_in_flight) return true;
    if (pod.eviction.state == EvictionState::none) return false;
    return pod.eviction.preemptor != ObjectKey{} ||
           state.maintenance.calendar().clock.has_postponed();
}

std::map<ObjectKey, DrainedJob> find_drained_jobs(const ClusterState& state) {
    std::map<ObjectKey, DrainedJob> out;
    for (const std::uint32_t slot : state.maintenance.calendar().nodes) {
        const NodeRow& node = state.node(NodeId{slot});
        if (node.facts.unhealthy.empty() && !node.facts.draining &&
            (node.windows & state.maintenance.calendar().draining) == 0) {
            continue;
        }
        for (const PodId id : node.pods) {
            const PodRow& pod = state.pod(id);
            if (!pod.job.exists() || pod.bind.state != BindState::bound) continue;
            if (pod.is_terminating() || pod.bind.delete_in_flight) continue;
            DrainOrder order = order_for(state, node, pod);
            if (order.drain == Drain::none) continue;
            const bool is_gang = state.gangs.gang_size(state.job(pod.job)).has_value();
            if (!is_gang && !may_be_evicted(state, order.drain, pod)) continue;
            DrainedJob& of = out[state.job(pod.job).key];
            join(of.order, std::move(order));
            of.pods.push_back(id);
        }
    }
    return out;
}

// True if releasing the ranks above the job's minimum is sufficient. They are released now, or when
// the job has settled.
bool shrink_from(Commit& commit, JobId id, const DrainedJob& of) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(id);
    if (!ElasticJobs::is_elastic(job) || job.elastic.is_paused(state.now())) return false;
    std::int32_t lowest = kRanksMaximum;
    for (const PodId pod : of.pods) lowest = std::min(lowest, state.pod(pod).facts.rank);
    const auto least = std::max<std::int64_t>(state.gangs.gang_size(job).value_or(1), 1);
    const ElasticRanks ranks = state.elastic.ranks_of(job);
    if (lowest < least || ranks.is_ending) return false;
    if (!ranks.is_settled) return !of.order.has_begun;
    if (lowest >= ranks.there) return false;
    commit.resize(id, lowest, *of.order.why, EvictionCause::drained);
    return true;
}

// All ranks of the gang that hold capacity. Empty if one of them may not be evicted, if its binds
// are in progress, or if an eviction was refused. After a refusal all are requested again:
// otherwise a rank that was created again meanwhile would be evicted as soon as it starts, over and
// over.
std::vector<PodId> whole_gang(const ClusterState& state, const JobRow& job, const DrainedJob& of) {
    std::vector<PodId> out;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.bind.state == BindState::assumed) return {};
        if (pod.bind.state != BindState::bound) continue;
        const bool is_asked_before = is_asked(state, pod);
        if (is_asked_before && pod.eviction.state == EvictionState::postponed) return {};
        if (is_asked_before) continue;
        if (!may_be_evicted(state, of.order.drain, pod)) return {};
        out.push_back(id);
    }
    return out;
}

}  // namespace

bool drain_nodes(Commit& commit) {
    const ClusterState& state = commit.state();
    bool is_turn_lost = false;
    for (auto& [key, of] : find_drained_jobs(state)) {
        const JobId id = state.jobs.find_job(key);
        const std::int32_t before = state.job(id).elastic.wanted;
        if (shrink_from(commit, id, of)) {
            const bool is_resized = state.job(id).elastic.wanted != before;
            is_turn_lost = is_turn_lost || (is_resized && loses_its_turn(state, id));
            continue;
        }
        const JobRow& job = state.job(id);
        std::vector<PodId> pods;
        if (state.gangs.gang_size(job) && !has_fault(SeededFault::drain_half_a_gang)) {
            pods = whole_gang(state, job, of);
        } else {
            for (const PodId pod : job.pods) {  // in the order of the job's pods, not of the nodes
                const bool goes = std::find(of.pods.begin(), of.pods.end(), pod) != of.pods.end();
                if (!goes || is_asked(state, state.pod(pod))) continue;
                pods.push_back(pod);
            }
        }
        if (pods.empty()) continue;
        commit.evict(pods, EvictionCause::drained, *of.order.why);
        is_turn_lost = is_turn_lost || loses_its_turn(state, id);
    }
    commit.finish_drain();
    return is_turn_lost;
}

}  // namespace gpuctl
