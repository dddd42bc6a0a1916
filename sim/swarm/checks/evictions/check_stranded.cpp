// I17 and I14 of stranded gangs, which were complete and lack ranks (ADR 0027): they are evicted
// only after their repair deadline, and then for every job that could start.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

bool Checker::has_binds_in_flight(const ObjectKey& job) const {
    const auto found = reference_.jobs.find(job);
    return found != reference_.jobs.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string& uid) {
               const ReferencePod& pod = reference_.pods.at(uid);
               return pod.stays() && (pod.open || pod.reserved);
           });
}

bool Checker::holds_capacity(const ObjectKey& job) const {
    const auto found = reference_.jobs.find(job);
    return found != reference_.jobs.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string& uid) {
               const ReferencePod& pod = reference_.pods.at(uid);
               return pod.holds() && !pod.facts.terminating;
           });
}

// Called when a Plan begins. A gang with binds in flight may still become complete. A gang that
// holds nothing any more starts like any other job.
void Checker::record_short_gangs(const ClusterState& after) {
    if (!after.session.leading()) return;
    std::erase_if(started_, [this](const ObjectKey& job) {
        if (has_binds_in_flight(job)) return false;
        const Gang gang = reference_.gang_of(job);
        const bool is_short = gang.bound > 0 && !gang.is_whole();
        if (is_short) {
            short_since_.try_emplace(job, reference_.now);
        } else {
            short_since_.erase(job);
        }
        return gang.size > 0 && !gang.is_whole() && !holds_capacity(job);
    });
}

bool Checker::is_stranded(const PodFacts& pod) const {
    const auto since = short_since_.find(job_of(pod));
    const Duration deadline = reference_.policy.gang_repair_deadline;
    return since != short_since_.end() && deadline > Duration{} &&
           since->second + deadline <= reference_.now && pod.priority < kSystemPriority;
}

std::optional<ReferenceModel> Checker::without_stranded(const ClusterState& state,
                                                        const ObjectKey& but,
                                                        const std::string& pool) const {
    std::optional<ReferenceModel> then;  // copied only if there is a stranded gang: seldom
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.holds() || pod.facts.terminating || pod.facts.priority >= kSystemPriority)
            continue;
        const JobId id = state.jobs.find_job(job_of(pod.facts));
        if (!id.exists() || state.job(id).key == but || !yields(state.job(id).gang.phase()))
            continue;
        if (reference_.queue_of(pod.facts).pool != pool) continue;
        if (!unit_may_be_evicted(state, pod, pool, Consent::not_needed)) continue;
        if (!then) then = reference_;
        then->pods.at(uid).facts.phase = PodPhase::failed;
    }
    return then;
}

// True if `ranks` equal ranks fit once the job has released its capacity.
bool Checker::fits_restarted(const ObjectKey& job, const PodFacts& like, std::int64_t ranks) const {
    ReferenceModel then = reference_;
    for (const std::string& uid : reference_.jobs.at(job)) {
        ReferencePod& pod = then.pods.at(uid);
        if (!pod.stays()) continue;
        pod.facts.phase = PodPhase::failed;
        const Duration gone_after = pod.facts.stop_grace + Duration::seconds(60);
        then.starts_within = std::max(then.starts_within, gone_after);
    }
    Amounts ask;
    ask.add(amounts_of(like.request), ranks);
    return then.limit_crossed(like, ask).empty() && then.fitting_in_models(like, ranks) >= ranks;
}

bool Checker::could_restart(const ClusterState& state, JobId id, const Readiness& ready,
                            const PodFacts& like) const {
    const JobRow& job = state.job(id);
    if (!yields(job.gang.phase()) || reference_.budgets_in(reference_.policy).size() > 0)
        return false;
    for (const PodId pod : job.pods) {
        const ReferencePod& reference_pod = reference_.pods.at(state.pod(pod).facts.uid);
        if (!reference_pod.holds()) continue;
        const std::string& pool = state.pool(job.pool).name;
        if (!unit_may_be_evicted(state, reference_pod, pool, Consent::not_needed)) return false;
    }
    return fits_restarted(job.key, like, reference_.gang_of(job.key).bound + ready.ranks_needed);
}

// Its ranks are evicted one after the other; the decision is checked with the first.
void Checker::check_restarted(const ObjectKey& job, const PodFacts& like) {
    const auto& ranks = reference_.jobs.at(job);
    const bool is_first = std::none_of(ranks.begin(), ranks.end(), [this](const std::string& uid) {
        return evicted_in_this_step_.contains(uid);
    });
    const Gang gang = reference_.gang_of(job);
    if (is_first && !fits_restarted(job, like, gang.size - gang.succeeded)) {
        fail("I17", "gang " + to_string(job) + " is evicted to start elsewhere and fits nowhere");
    }
}

// Checks at a fixed point that the engine knows since when each gang lacks ranks, and whether it is
// stranded.
void Checker::check_stranded(const ClusterState& state) {
    const Duration deadline = reference_.policy.gang_repair_deadline;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waiting.in_class.exists() || !has_started(job.gang.phase()) ||
            has_binds_in_flight(key))
            continue;
        const Gang gang = reference_.gang_of(key);
        const bool is_short = gang.size > 0 && gang.bound > 0 && !gang.is_whole();
        if (is_short && !job.gang.short_since.happened()) {
            fail("I14", "gang " + to_string(key) +
                            " lacks ranks and the engine does not track since when");
        }
        const bool is_late =
            is_short && deadline > Duration{} && job.gang.short_since + deadline <= state.now();
        if (is_late != yields(job.gang.phase())) {
            fail("I14",
                 "gang " + to_string(key) + (is_late ? " has" : " has not") +
                     " lacked ranks past its repair deadline, and the engine reports the opposite");
        }
    }
}

}  // namespace gpuctl::sim
