// I20: no pod runs on a node inside a maintenance window. Pods that may be drained are drained in
// time, gangs as a whole, and no other pods are.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

void Checker::check_drain(const EvictPod& eviction, const ClusterState& after) {
    const std::string what = "eviction of " + to_string(eviction.pod.key) + " for maintenance";
    const auto found = reference_.pods.find(eviction.pod.uid);
    if (found == reference_.pods.end()) return fail("I20", what + ": no such pod");
    const ReferencePod& pod = found->second;
    if (!pod.is_bound() || is_terminal(pod.facts.phase)) fail("I20", what + ": it does not run");
    ++probes.pods_drained;
    const auto must_be_drained = [&](const ReferencePod& one) {
        const auto node = reference_.nodes.find(one.where());
        const PodId id = after.pods.find_pod(one.facts.uid);
        return node != reference_.nodes.end() && id.exists() &&
               reference_.must_be_drained(node->second, one.facts, after.pod(id).ends_at);
    };
    // In a new term, unanswered evictions are sent again, whatever has changed since.
    if (!preemptor_of_.emplace(eviction.pod.uid, ObjectKey{}).second) return;
    const ObjectKey job = job_of(pod.facts);
    if (reference_.gang_of(job).size == 0) {
        if (!must_be_drained(pod)) fail("I20", what + ": it could have stayed");
        return;
    }
    const auto& ranks = reference_.jobs.at(job);
    if (std::none_of(ranks.begin(), ranks.end(), [&](const std::string& uid) {
            return must_be_drained(reference_.pods.at(uid));
        })) {
        if (!is_stranded(pod.facts)) fail("I20", what + ": none of its gang had to leave");
        check_restarted(job, pod.facts);
    }
    drained_.insert(job);
}

// Checks that every rank of a drained gang is evicted, now or before.
void Checker::check_drained_gangs(const ClusterState& after) {
    for (const ObjectKey& job : std::exchange(drained_, {})) {
        for (const std::string& uid : reference_.jobs.at(job)) {
            const PodId id = after.pods.find_pod(uid);
            if (!reference_.pods.at(uid).stays() || !id.exists()) continue;
            if (after.pod(id).eviction.state != EvictionState::none || after.pod(id).is_surplus)
                continue;
            fail("I20", "only a part of gang " + to_string(job) + " is drained for maintenance");
            break;
        }
    }
}

// Checks at a fixed point that every pod that must be drained, and may be, is being evicted.
void Checker::check_windows(const ClusterState& state) {
    for (const auto& [uid, pod] : reference_.pods) {
        const auto node = reference_.nodes.find(pod.where());
        const PodId id = state.pods.find_pod(uid);
        if (node == reference_.nodes.end() || !id.exists() || !pod.holds()) continue;
        if (!pod.is_bound() || pod.is_seat) continue;  // it is only nominated
        const bool was_postponed = state.pod(id).eviction.state == EvictionState::postponed &&
                                   state.pod(id).eviction.preemptor == ObjectKey{};
        if (was_postponed && state.maintenance.calendar().clock.drain_again_at <= state.now()) {
            fail("I20", "pod " + to_string(pod.facts.key) + " could not be drained and is not " +
                            "retried");
        }
        if (!reference_.must_be_drained(node->second, pod.facts, state.pod(id).ends_at)) continue;
        const JobRow& job = state.job(state.pod(id).job);
        const bool may_go = std::all_of(job.pods.begin(), job.pods.end(), [&](PodId other) {
            const PodRow& row = state.pod(other);
            if (row.bind.state == BindState::assumed || row.bind.delete_in_flight) return false;
            return !row.node.exists() || row.facts.terminating ||
                   (row.eviction.state == EvictionState::none &&
                    row.eviction.spared_until <= state.now() && row.facts.has_controller &&
                    row.facts.preemptible == pod.facts.preemptible);
        });
        if (!may_go || ElasticJobs::is_elastic(job) || pod.facts.terminating) continue;
        fail("I20", "pod " + to_string(pod.facts.key) + " must leave " + node->first +
                        " and is not evicted");
    }
}

}  // namespace gpuctl::sim
