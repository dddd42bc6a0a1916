// I20: nodes take no work inside of a maintenance window, nor what is not over by then; what may be
// stopped for one is, whole, in time, and nobody else is.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

void Judge::check_drain(const EvictPod& eviction, const ClusterState& after) {
    const std::string what = "eviction of " + to_string(eviction.pod.key) + " for maintenance";
    const auto found = books_.pods.find(eviction.pod.uid);
    if (found == books_.pods.end()) return fail("I20", what + ": nobody has this pod");
    const BookedPod& pod = found->second;
    if (!pod.is_bound() || is_terminal(pod.facts.phase)) fail("I20", what + ": it does not run");
    ++probes.pods_drained;
    const auto is_to_leave = [&](const BookedPod& one) {
        const auto node = books_.nodes.find(one.where());
        const PodId id = after.find_pod(one.facts.uid);
        return node != books_.nodes.end() && id.exists() &&
               books_.is_to_leave(node->second, one.facts, after.pod(id).ends_at);
    };
    // In a new term, what was never answered is asked again, whatever has changed since.
    if (!asked_to_go_for_.emplace(eviction.pod.uid, ObjectKey{}).second) return;
    const ObjectKey job = job_of(pod.facts);
    if (books_.gang_of(job).size == 0) {
        if (!is_to_leave(pod)) fail("I20", what + ": it could have stayed");
        return;
    }
    const auto& ranks = books_.jobs.at(job);
    if (std::none_of(ranks.begin(), ranks.end(),
                     [&](const std::string& uid) { return is_to_leave(books_.pods.at(uid)); })) {
        if (!is_stranded(pod.facts)) fail("I20", what + ": none of its gang had to leave");
        check_started_anew(job, pod.facts);
    }
    drained_.insert(job);
}

// All of it is asked, now or before.
void Judge::check_drained_gangs(const ClusterState& after) {
    for (const ObjectKey& job : std::exchange(drained_, {})) {
        for (const std::string& uid : books_.jobs.at(job)) {
            const PodId id = after.find_pod(uid);
            if (!books_.pods.at(uid).stays() || !id.exists()) continue;
            if (after.pod(id).eviction != Eviction::none || after.pod(id).is_surplus) continue;
            fail("I20", "only a part of gang " + to_string(job) + " is stopped for maintenance");
            break;
        }
    }
}

// At a fixed point nobody stays who is to leave and may be asked.
void Judge::look_at_windows(const ClusterState& state) {
    for (const auto& [uid, pod] : books_.pods) {
        const auto node = books_.nodes.find(pod.where());
        const PodId id = state.find_pod(uid);
        if (node == books_.nodes.end() || !id.exists() || !pod.holds()) continue;
        if (!pod.is_bound()) continue;  // room that is only claimed
        const bool could_not_go = state.pod(id).eviction == Eviction::postponed &&
                                  state.pod(id).evicted_for == ObjectKey{};
        if (could_not_go && state.calendar().clock.drain_again_at <= state.now()) {
            fail("I20", "pod " + to_string(pod.facts.key) + " could not be stopped and is not " +
                            "asked again");
        }
        if (!books_.is_to_leave(node->second, pod.facts, state.pod(id).ends_at)) continue;
        const JobRow& job = state.job(state.pod(id).job);
        const bool may_go = std::all_of(job.pods.begin(), job.pods.end(), [&](PodId other) {
            const PodRow& row = state.pod(other);
            if (row.standing == PodStanding::assumed || row.delete_in_flight) return false;
            return !row.node.exists() || row.facts.terminating ||
                   (row.eviction == Eviction::none && row.spared_until <= state.now() &&
                    row.facts.has_controller && row.facts.preemptible == pod.facts.preemptible);
        });
        if (!may_go || ClusterState::is_elastic(job) || pod.facts.terminating) continue;
        fail("I20", "pod " + to_string(pod.facts.key) + " is to leave " + node->first +
                        " and nobody asks it to");
    }
}

}  // namespace gpuctl::sim
