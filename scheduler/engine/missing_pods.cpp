#include "scheduler/engine/missing_pods.hpp"

#include <algorithm>

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

}  // namespace

std::optional<Explanation> explain_missing_pods(const ClusterState& state, const JobRow& job) {
    if (!job.record || has_ended(job)) return std::nullopt;
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
