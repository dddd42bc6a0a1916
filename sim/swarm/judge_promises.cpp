// I16: what the first in line of a pool is promised comes true if everything runs to its limit, and
// only such a promise keeps anybody from room that is free.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

// By its limit, counted from when it was placed or, later, from when it started, or when the grace
// of one that is being deleted is over; never: nobody knows.
Instant end_of(const BookedPod& pod, const ClusterState& state) {
    const PodId id = state.find_pod(pod.facts.uid);
    if (!id.exists() || !pod.facts.ours) return {};
    if (!pod.claimed.empty() && pod.facts.run_time_max > Duration{}) {
        // As if it began when its claim ends.
        return state.job(state.pod(id).job).claim_until + pod.facts.run_time_max;
    }
    if (!pod.is_bound()) return {};
    const Instant leaves = pod.facts.terminating ? pod.leaves_at : Instant{};
    if (pod.facts.run_time_max <= Duration{}) return leaves;
    const PodRow& row = state.pod(id);
    Instant begin = std::max(row.placed_at, pod.facts.started_at);
    if (!begin.happened()) begin = row.seen_at;
    const Instant end = begin + pod.facts.run_time_max;
    return leaves.happened() ? std::min(end, leaves) : end;
}

bool is_stuck(const BookedPod& pod, Instant now) {
    return pod.facts.terminating && pod.leaves_at + Duration::seconds(60) <= now;
}

bool Judge::is_held_back(const ClusterState& state, JobId id, Duration later) const {
    const JobRow& job = state.job(id);
    if (is_behind_a_limit(state, id, books_, later)) return true;
    const Promise& promise = state.pool(job.pool).promise;
    if (!promise.job.exists() || promise.job == id) return false;
    const Duration limit = state.pod(job.pods.front()).facts.run_time_max;
    return limit == Duration{} || state.now() + later + limit > promise.at ||
           // Of a class of limits nearly alike, the first is tried for all.
           state.book().at(job.waits_in).jobs.size() > 1;
}

// For one that has waited for long: it fits there when all that comes to an end has.
void Judge::check_kept(const ClusterState& state, const JobRow& job, const PodFacts& pod,
                       std::int64_t ranks) {
    ++probes.rooms_kept;
    const std::string who = "job " + to_string(job.key);
    const BackfillPolicy policy = books_.backfill_of(state.pool(job.pool).name);
    const bool is_due = policy.head == HeadOfLine::reserve && policy.keep_after > Duration{} &&
                        state.now() - job.submitted_at >= policy.keep_after;
    if (!is_due) fail("I16", who + " is kept room and has not waited long enough");
    Books later = books_;
    for (auto& [uid, other] : later.pods) {
        const bool ends = other.facts.runs_to_end || end_of(other, state).happened();
        if (other.facts.ours && other.holds() && ends) other.facts.phase = PodPhase::succeeded;
    }
    if (later.fitting_in_pool(pod, ranks) < ranks) {
        fail("I16", who + " is kept room where it will never fit");
    }
}

// Else who waits for them is promised nothing, and the next one has others stopped to take it.
void Judge::check_who_leaves(const ClusterState& state) {
    for (const auto& [uid, pod] : books_.pods) {
        if (!pod.facts.terminating || !pod.facts.ours || !pod.is_bound() || !pod.holds()) continue;
        const PodId id = state.find_pod(uid);
        if (!id.exists() || !state.pod(id).job.exists()) continue;
        if (!state.pod(id).ends_at.happened()) {
            fail("I16", "pod " + to_string(pod.facts.key) +
                            " is being deleted and nobody knows when it will be gone");
        }
    }
}

void Judge::check_promises(const ClusterState& state) {
    check_who_leaves(state);
    for (const auto& [name, pool] : state.pools_by_name()) {
        const Promise& promise = state.pool(pool).promise;
        if (!promise.job.exists()) continue;
        ++probes.promises_recounted;
        const JobRow& job = state.job(promise.job);
        Readiness ready;
        state.read_readiness(promise.job, ready);
        const std::string who = "job " + to_string(job.key);
        if (ready.hold != Reason::none || ready.pods.empty() || job.pool != pool) {
            fail("I16", who + " is promised room and does not wait for any");
            continue;
        }
        const PodFacts& pod = state.pod(ready.pods.front()).facts;
        const std::int64_t ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
        if (!promise.at.happened()) {
            check_kept(state, job, pod, ranks);
            continue;
        }
        Books later = books_;
        std::set<Instant> ends;
        for (const auto& [uid, other] : later.pods) {
            const Instant end = other.holds() ? end_of(other, state) : Instant{};
            if (end.happened() && end <= promise.at) ends.insert(end);
        }
        for (const Instant opening : books_.openings()) {
            if (opening <= promise.at) ends.insert(opening);
        }
        bool comes_true = false;
        for (const Instant end : ends) {
            for (auto& [uid, other] : later.pods) {
                if (other.holds() && end_of(other, state) == end) {
                    other.facts.phase = PodPhase::succeeded;
                }
            }
            later.now = std::max(later.now, end);
            comes_true = comes_true || later.fitting_in_pool(pod, ranks) >= ranks;
        }
        if (!comes_true) {
            fail("I16", who + " is promised room at " + std::to_string(promise.at.ms()) +
                            " that it cannot have then");
        }
    }
}

}  // namespace gpuctl::sim
