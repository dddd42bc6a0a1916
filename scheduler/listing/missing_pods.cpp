#include "scheduler/listing/missing_pods.hpp"

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

bool has_ended(const JobRow& job) {
    if (job.workload == WorkloadState::failed || job.workload == WorkloadState::deleting) {
        return true;
    }
    return job.workload_facts && (job.workload_facts->phase == WorkloadPhase::complete ||
                                  job.workload_facts->phase == WorkloadPhase::failed);
}

std::string sentence_of(const JobRow& job, bool one_failed) {
    if (job.workload == WorkloadState::creating) {
        return job.message.empty() ? "its workload is being created"
                                   : "its workload could not be created yet: " + job.message;
    }
    if (job.workload_facts) {
        const WorkloadFacts& facts = *job.workload_facts;
        if (facts.phase == WorkloadPhase::suspended) {
            return "its workload is suspended: nothing starts until that is taken back";
        }
        if (facts.replicas == 0) return "it is scaled to 0 replicas";
        if (!facts.message.empty()) return "its controller cannot make pods: " + facts.message;
    }
    if (one_failed) return "its last pod failed, and its controller has made no other yet";
    return "its controller has made no pod yet; the events of its workload object say why";
}

// A gang that ran, holds something, and of which nobody waits.
std::optional<Explanation> explain_missing_ranks(const ClusterState& state, const JobRow& job) {
    const std::optional<GangSize> size = state.gang_of(job);
    if (!size || size->ranks <= 0 || !job.gang_started) return std::nullopt;
    GangTally there{*size};
    there.add(job.finished);
    bool one_holds = false;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.standing == PodStanding::waiting) return std::nullopt;
        const bool has_failed = pod.facts.phase == PodPhase::failed;
        one_holds = one_holds || pod.standing != PodStanding::done;
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
    story.sentence += "; its controller has made no other yet";
    return story;
}

}  // namespace

std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job) {
    if (has_ended(job)) return std::nullopt;
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
    // Without the word of a controller (the virtual cluster has none) a failed pod is the end.
    const bool one_failed = is(PodPhase::failed) || job.last_phase == PodPhase::failed;
    const bool done = job.last_phase == PodPhase::succeeded || (one_failed && !job.workload_facts);
    if (job.workload == WorkloadState::created && done) return std::nullopt;
    Explanation story;
    story.reason = Reason::pods_missing;
    story.sentence = sentence_of(job, one_failed);
    return story;
}

}  // namespace gpuctl
