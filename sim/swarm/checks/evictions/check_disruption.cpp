// I14: no job waits that evictions could let start.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

bool Checker::may_be_evicted(const ClusterState& state, const std::string& uid,
                             const std::string& pool, bool is_willing) const {
    const PodId id = state.pods.find_pod(uid);
    if (!id.exists()) return false;
    const ReferencePod& pod = reference_.pods.at(uid);
    const PodRow& row = state.pod(id);
    const auto node = reference_.nodes.find(pod.where());
    const Instant protected_until =
        std::max(row.bind.placed_at, pod.facts.started_at) + reference_.policy.run_time_protected;
    return pod.stays() && row.bind.state == BindState::bound && is_willing &&
           pod.facts.has_controller && row.eviction.state == EvictionState::none &&
           row.eviction.spared_until <= state.now() && may_be_moved(uid) &&
           node != reference_.nodes.end() && node->second.ready && node->second.pool == pool &&
           protected_until <= state.now();
}

// True if the pod may be evicted, together with its whole gang if it is in one.
bool Checker::unit_may_be_evicted(const ClusterState& state, const ReferencePod& pod,
                                  const std::string& pool, Consent consent) const {
    if (pod.is_seat) return false;
    const ObjectKey job = job_of(pod.facts);
    const auto may = [&](const ReferencePod& one) {
        const bool is_willing = one.facts.preemptible || consent == Consent::not_needed ||
                                (consent == Consent::by_priority && may_be_preempted(one.facts));
        return may_be_evicted(state, one.facts.uid, pool, is_willing);
    };
    if (reference_.gang_of(job).size == 0) return may(pod);
    if (!has_started(state.job(state.jobs.find_job(job)).gang.phase())) return false;
    const std::set<std::string>& ranks = reference_.jobs.at(job);
    return std::all_of(ranks.begin(), ranks.end(), [&](const std::string& uid) {
        const ReferencePod& rank = reference_.pods.at(uid);
        return !rank.holds() || rank.facts.terminating || may(rank);
    });
}

// Checks that no job waits for which the engine could evict, shrink or restart other jobs.
void Checker::try_disruption(const ClusterState& state, JobId id, const Readiness& ready) {
    Attempt attempt{wish_of(state, ready), id, Duration{}};
    if (attempt.like.priority >= kSystemPriority) return;
    // A job that waits for terminating pods may lose them to another job; it is tried again then.
    if (has_terminating_pods(state, state.job(id))) return;
    // No eviction helps a job that its budget blocks.
    if (!reference_.budget_crossed(attempt.like, attempt.ask.gpus).empty()) return;
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds()) continue;
        attempt.latest = std::max(attempt.latest, pod.facts.stop_grace + kNominationSpare);
    }
    if (is_held_by_reservation(state, id, attempt.latest)) return;
    if (reference_.policy.windows.empty()) attempt.latest = Duration{};
    ++probes.disruptions_tried;
    const std::string missed = missed_disruption(state, ready, attempt);
    if (missed.empty()) return;
    fail("I14", "job " + to_string(state.job(id).key) + " " + missed + ", and it is not tried");
}

bool Checker::could_start_in(std::optional<ReferenceModel> then, const Attempt& attempt) const {
    if (!then) return false;
    if (attempt.latest > Duration{}) then->starts_within = attempt.latest;
    return can_start(*then, attempt);
}

// The first kind of disruption that would let the job start; empty: none.
std::string Checker::missed_disruption(const ClusterState& state, const Readiness& ready,
                                       const Attempt& attempt) {
    const JobId id = attempt.job;
    const PodFacts& like = attempt.like;
    if (std::optional<ReferenceModel> then = without_surplus(state, id, like)) {
        ++probes.shrinks_tried;
        if (could_start_in(std::move(then), attempt)) return "could start if elastic jobs shrank";
    }
    const std::string& pool = state.pool(state.job(id).pool).name;
    if (could_start_in(without_stranded(state, state.job(id).key, pool), attempt)) {
        return "could start if stranded gangs were evicted";
    }
    if (could_restart(state, id, ready, like)) return "could start elsewhere as a whole";
    std::optional<ReferenceModel> reclaimed = without_lent_capacity(state, like, attempt.ask);
    if (reclaimed) {
        ++probes.reclaims_tried;
        if (could_start_in(reclaimed, attempt))
            return "could start if lent capacity were reclaimed";
    }
    // CPU-only pods are never in the way of a limit.
    if (const auto cpu_only_pods = blocking_cpu_pods(state, like, attempt.ask);
        !cpu_only_pods.empty()) {
        ReferenceModel then = reclaimed ? std::move(*reclaimed) : reference_;
        if (attempt.latest > Duration{}) then.starts_within = attempt.latest;
        const bool is_allowed = then.limit_crossed(like, attempt.ask).empty();
        for (const std::string& uid : cpu_only_pods) {
            then.pods.at(uid).facts.phase = PodPhase::failed;
        }
        if (is_allowed) ++probes.clearings_tried;
        if (is_allowed && then.fitting_in_models(like, attempt.ranks) >= attempt.ranks) {
            return "could use the GPUs that its queue is guaranteed if CPU-only pods were evicted";
        }
    }
    const std::vector<std::string> victims = victims_for(state, attempt);
    if (victims.empty()) return "";
    std::optional<ReferenceModel> without = reference_;
    for (const std::string& uid : victims) without->pods.at(uid).facts.phase = PodPhase::failed;
    if (!could_start_in(std::move(without), attempt)) return "";
    return "could start if " + std::to_string(victims.size()) +
           " pods were preempted, one of them " +
           to_string(reference_.pods.at(victims.front()).facts.key);
}

// Uids of all pods that the job may preempt: pods of lower priority, or pods with more remaining
// work.
std::vector<std::string> Checker::victims_for(const ClusterState& state,
                                              const Attempt& attempt) const {
    std::vector<std::string> victims;
    const PodFacts& like = attempt.like;
    if (!like.preempts) return victims;
    const std::string& pool = state.pool(state.job(attempt.job).pool).name;
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds() || pod.facts.terminating) continue;
        if (pod.facts.priority >= like.priority) continue;
        if (reference_.queue_of(pod.facts) != reference_.queue_of(like)) continue;
        if (unit_may_be_evicted(state, pod, pool, Consent::by_priority)) victims.push_back(uid);
    }
    if (victims.empty()) victims = jobs_with_more_remaining(state, attempt.job, like);
    return victims;
}

}  // namespace gpuctl::sim
