// I16: the head of line of a pool can start at its reserved time if all pods run to their limits.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

// The end of the pod by its run-time limit, counted from its placement or from its start if that is
// later, or by the grace period of a terminating pod. Never: unknown.
Instant end_of(const ReferencePod& pod, const ClusterState& state) {
    const PodId id = state.pods.find_pod(pod.facts.uid);
    if (!id.exists() || !pod.facts.ours || pod.is_seat) return {};  // a pause has no end
    if (!pod.nominated_node.empty() && pod.facts.run_time_max > Duration{}) {
        // The end as if the pod started at the end of its nomination.
        return state.job(state.pod(id).job).nomination.until + pod.facts.run_time_max;
    }
    if (!pod.is_bound()) return {};
    const Instant leaves = pod.facts.terminating ? pod.leaves_at : Instant{};
    if (pod.facts.run_time_max <= Duration{}) return leaves;
    const PodRow& row = state.pod(id);
    Instant begin = std::max(row.bind.placed_at, pod.facts.started_at);
    if (!begin.happened()) begin = row.seen_at;
    const Instant end = begin + pod.facts.run_time_max;
    return leaves.happened() ? std::min(end, leaves) : end;
}

bool is_stuck(const ReferencePod& pod, Instant now) {
    return pod.facts.terminating && pod.leaves_at + Duration::seconds(60) <= now;
}

bool Checker::is_held_by_reservation(const ClusterState& state, JobId id, Duration later) const {
    const JobRow& job = state.job(id);
    if (is_held_by_quota_reservation(state, id, reference_, later)) return true;
    const HeadReservation& reservation = state.pool(job.pool).reservations.head;
    if (!reservation.job.exists() || reservation.job == id) return false;
    const Duration limit = state.pod(job.pods.front()).facts.run_time_max;
    return limit == Duration{} || state.now() + later + limit > reservation.at ||
           // In a class of nearly equal run time limits, the engine only tries the first job.
           state.waiting.book().at(job.waiting.in_class).jobs.size() > 1;
}

// Nodes are kept for a job that has waited long: it fits once everything that ends has ended.
void Checker::check_kept_nodes(const ClusterState& state, const JobRow& job, const PodFacts& pod,
                               std::int64_t ranks) {
    ++probes.kept_nodes_checked;
    const std::string what = "job " + to_string(job.key);
    const BackfillPolicy policy = reference_.backfill_of(state.pool(job.pool).name);
    const bool is_due = policy.head == HeadOfLine::reserve && policy.keep_after > Duration{} &&
                        state.now() - job.submitted_at >= policy.keep_after;
    if (!is_due) fail("I16", what + " is kept nodes and has not waited long enough");
    ReferenceModel later = reference_;
    for (auto& [uid, other] : later.pods) {
        const bool ends =
            (other.facts.runs_to_end && !other.is_seat) || end_of(other, state).happened();
        if (other.facts.ours && other.holds() && ends) other.facts.phase = PodPhase::succeeded;
    }
    if (later.fitting_in_pool(pod, ranks) < ranks) {
        fail("I16", what + " is kept nodes where it will never fit");
    }
}

// Otherwise the job that waits for them gets no reservation, and the next job preempts for it.
void Checker::check_terminating(const ClusterState& state) {
    for (const auto& [uid, pod] : reference_.pods) {
        if (!pod.facts.terminating || !pod.facts.ours || !pod.is_bound() || !pod.holds()) continue;
        const PodId id = state.pods.find_pod(uid);
        if (!id.exists() || !state.pod(id).job.exists()) continue;
        if (!state.pod(id).ends_at.happened()) {
            fail("I16",
                 "pod " + to_string(pod.facts.key) + " is being deleted without a known end");
        }
    }
}

void Checker::check_head_reservations(const ClusterState& state) {
    check_terminating(state);
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        const HeadReservation& reservation = state.pool(pool).reservations.head;
        if (!reservation.job.exists()) continue;
        ++probes.reservations_recounted;
        const JobRow& job = state.job(reservation.job);
        Readiness ready;
        state.waiting.read_readiness(reservation.job, ready);
        const std::string what = "job " + to_string(job.key);
        if (!ready.can_be_tried() || job.pool != pool) {
            fail("I16", what + " has a reservation and does not wait");
            continue;
        }
        const PodFacts& pod = state.pod(ready.pods.front()).facts;
        const std::int64_t ranks = ready.ranks_at_once();
        if (!reservation.at.happened()) {
            check_kept_nodes(state, job, pod, ranks);
            continue;
        }
        ReferenceModel later = reference_;
        std::set<Instant> ends;
        for (const auto& [uid, other] : later.pods) {
            const Instant end = other.holds() ? end_of(other, state) : Instant{};
            if (end.happened() && end <= reservation.at) ends.insert(end);
        }
        for (const Instant opening : reference_.openings()) {
            if (opening <= reservation.at) ends.insert(opening);
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
            fail("I16", what + " has a reservation at " + std::to_string(reservation.at.ms()) +
                            " and does not fit then");
        }
    }
}

}  // namespace gpuctl::sim
