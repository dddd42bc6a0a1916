#include "scheduler/listing/missing_pods.hpp"

#include <algorithm>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

bool has_ended(const JobRow& job) {
    if (job.workload.state == WorkloadState::failed ||
        job.workload.state == WorkloadState::deleting) {
        return true;
    }
    return job.workload.facts && (job.workload.facts->phase == WorkloadPhase::complete ||
                                  job.workload.facts->phase == WorkloadPhase::failed);
}

fact::PodsMissing cause_of(const JobRow& job, bool one_failed) {
    using fact::PodsMissingCause;
    if (job.workload.state == WorkloadState::creating) {
        const bool is_refused = !job.workload.message.empty();
        return {
            is_refused ? PodsMissingCause::workload_refused : PodsMissingCause::creating_workload,
            job.workload.message};
    }
    if (job.workload.facts) {
        const WorkloadFacts& facts = *job.workload.facts;
        if (facts.phase == WorkloadPhase::suspended) return {PodsMissingCause::suspended, ""};
        if (facts.replicas == 0) return {PodsMissingCause::scaled_to_zero, ""};
        if (!facts.message.empty()) return {PodsMissingCause::controller_fails, facts.message};
    }
    return {one_failed ? PodsMissingCause::last_pod_failed : PodsMissingCause::unknown, ""};
}

// Explains a gang that ran, holds capacity, lacks ranks and has no waiting pod.
std::optional<Explanation> explain_missing_ranks(const ClusterState& state, const JobRow& job) {
    const std::optional<GangSize> size = state.gangs.gang_of(job);
    if (!size || size->ranks <= 0 || !has_started(job.gang.phase())) return std::nullopt;
    GangTally there{*size};
    there.add(job.gang.finished);
    bool one_holds = false;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.bind.state == BindState::waiting) return std::nullopt;
        const bool has_failed = pod.facts.phase == PodPhase::failed;
        one_holds = one_holds || pod.bind.state != BindState::done;
        if (!has_failed) there.add(pod.facts.role);
    }
    if (!one_holds || there.is_whole()) return std::nullopt;
    Readiness short_of;
    short_of.hold = Reason::gang_incomplete;
    short_of.subject = job.key.name;
    short_of.ranks_min = size->ranks;
    short_of.ranks_held = there.ranks();
    there.read_short(short_of.roles_short);
    Explanation story = explain_parts::explain_hold(state, job, short_of);
    story.facts.push_back(fact::RanksNotMade{});
    return story;
}

}  // namespace

std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job) {
    if (has_ended(job)) return std::nullopt;
    if (Seats::is_paused(job)) {
        Explanation story;
        story.reason = Reason::paused;
        story.facts = {state.seats.paused(job)};
        return story;
    }
    if (auto story = explain_missing_ranks(state, job)) return story;
    if (!job.record) return std::nullopt;
    const auto phase = [&](PodId id) { return state.pod(id).facts.phase; };
    const auto is = [&](PodPhase wanted) {
        return std::any_of(job.pods.begin(), job.pods.end(),
                           [&](PodId id) { return phase(id) == wanted; });
    };
    const bool any_live = std::any_of(job.pods.begin(), job.pods.end(),
                                      [&](PodId id) { return !is_terminal(phase(id)); });
    if (any_live || is(PodPhase::succeeded)) return std::nullopt;
    // If no controller reports a phase (the simulated cluster has none), a failed pod ends the job.
    const bool one_failed = is(PodPhase::failed) || job.run.last_phase == PodPhase::failed;
    const bool done =
        job.run.last_phase == PodPhase::succeeded || (one_failed && !job.workload.facts);
    if (job.workload.state == WorkloadState::created && done) return std::nullopt;
    Explanation story;
    story.reason = Reason::pods_missing;
    story.facts = {cause_of(job, one_failed)};
    return story;
}

}  // namespace gpuctl
