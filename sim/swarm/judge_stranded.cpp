// I17 and I14, of gangs that ran as a whole and lack ranks (ADR 0027): they are stopped for others
// only after their time, and those who would start then are not left waiting.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

bool Judge::is_under_way(const ObjectKey& job) const {
    const auto found = books_.jobs.find(job);
    return found != books_.jobs.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string& uid) {
               const BookedPod& pod = books_.pods.at(uid);
               return pod.stays() && (pod.open || pod.reserved);
           });
}

bool Judge::is_there(const ObjectKey& job) const {
    const auto found = books_.jobs.find(job);
    return found != books_.jobs.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const std::string& uid) {
               const BookedPod& pod = books_.pods.at(uid);
               return pod.holds() && !pod.facts.terminating;
           });
}

// By the books, when a Plan begins. While ranks of it are under way nobody knows what it lacks. One
// of which nothing is left starts like any other.
void Judge::note_short_gangs(const ClusterState& after) {
    if (!after.leading()) return;
    std::erase_if(started_, [this](const ObjectKey& job) {
        if (is_under_way(job)) return false;
        const Gang gang = books_.gang_of(job);
        const bool is_short = gang.bound > 0 && !gang.is_whole();
        if (is_short) {
            short_since_.try_emplace(job, books_.now);
        } else {
            short_since_.erase(job);
        }
        return gang.size > 0 && !gang.is_whole() && !is_there(job);
    });
}

bool Judge::is_stranded(const PodFacts& pod) const {
    const auto since = short_since_.find(job_of(pod));
    const Duration deadline = books_.policy.gang_repair_deadline;
    return since != short_since_.end() && deadline > Duration{} &&
           since->second + deadline <= books_.now && pod.priority < kSystemPriority;
}

std::optional<Books> Judge::without_stranded(const ClusterState& state, const ObjectKey& but,
                                             const std::string& pool) const {
    std::optional<Books> then;  // copied when there is somebody: seldom
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.holds() || pod.facts.terminating || pod.facts.priority >= kSystemPriority)
            continue;
        const JobId id = state.find_job(job_of(pod.facts));
        if (!id.exists() || state.job(id).key == but || !state.job(id).is_stranded) continue;
        if (books_.queue_of(pod.facts).pool != pool) continue;
        if (!unit_may_be_stopped(state, pod, pool, Consent::not_needed)) continue;
        if (!then) then = books_;
        then->pods.at(uid).facts.phase = PodPhase::failed;
    }
    return then;
}

// Without what it holds now: so many of its ranks, which are alike.
bool Judge::fits_anew(const ObjectKey& job, const PodFacts& like, std::int64_t ranks) const {
    Books then = books_;
    for (const std::string& uid : books_.jobs.at(job)) {
        BookedPod& pod = then.pods.at(uid);
        if (!pod.stays()) continue;
        pod.facts.phase = PodPhase::failed;
        const Duration gone_after = pod.facts.stop_grace + Duration::seconds(60);
        then.begins_within = std::max(then.begins_within, gone_after);
    }
    Amounts ask;
    ask.add(amounts_of(like.request), ranks);
    return then.limit_crossed(like, ask).empty() && then.fitting_in_models(like, ranks) >= ranks;
}

bool Judge::could_start_anew(const ClusterState& state, JobId id, const Readiness& ready,
                             const PodFacts& like) const {
    const JobRow& job = state.job(id);
    if (!job.is_stranded || books_.budgets_in(books_.policy).size() > 0) return false;
    for (const PodId pod : job.pods) {
        const BookedPod& booked = books_.pods.at(state.pod(pod).facts.uid);
        if (!booked.holds()) continue;
        const std::string& pool = state.pool(job.pool).name;
        if (!unit_may_be_stopped(state, booked, pool, Consent::not_needed)) return false;
    }
    return fits_anew(job.key, like, books_.gang_of(job.key).bound + ready.ranks_needed);
}

// Its ranks are told one after the other; with the first of them the decision is judged.
void Judge::check_started_anew(const ObjectKey& job, const PodFacts& like) {
    const auto& ranks = books_.jobs.at(job);
    const bool is_first = std::none_of(ranks.begin(), ranks.end(), [this](const std::string& uid) {
        return told_to_go_.contains(uid);
    });
    const Gang gang = books_.gang_of(job);
    if (is_first && !fits_anew(job, like, gang.size - gang.succeeded)) {
        fail("I17", "gang " + to_string(job) + " is stopped to start elsewhere and fits nowhere");
    }
}

// At a fixed point it is known of each how long it has lacked ranks, and whether that is too long.
void Judge::look_at_stranded(const ClusterState& state) {
    const Duration deadline = books_.policy.gang_repair_deadline;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waits_in.exists() || !job.gang_started || is_under_way(key)) continue;
        const Gang gang = books_.gang_of(key);
        const bool is_short = gang.size > 0 && gang.bound > 0 && !gang.is_whole();
        if (is_short && !job.short_since.happened()) {
            fail("I14", "gang " + to_string(key) + " lacks ranks and nobody counts how long");
        }
        const bool is_late =
            is_short && deadline > Duration{} && job.short_since + deadline <= state.now();
        if (is_late != job.is_stranded) {
            fail("I14", "gang " + to_string(key) + (is_late ? " has" : " has not") +
                            " lacked ranks for too long and is taken for another");
        }
    }
}

}  // namespace gpuctl::sim
