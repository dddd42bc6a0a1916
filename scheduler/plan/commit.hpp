#pragma once
// The only way from a decision to the state. The planner reads a const ClusterState and hands every
// decision to one function here, which applies it at once, so that later decisions of the same
// cycle see it, and appends the effects that carry it out (docs/adr/0037).
//
// Placements, nominations, evictions, sizes, reservations, refusals and reports are added to the
// plan of the cycle. What only begins or ends a cycle, ends a nomination, marks a job, or has
// something tried or sent again is not.
//
// Lifecycle, owner, thread: made by the Engine for one Plan input.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/plan/cycle_plan.hpp"
#include "scheduler/plan/overlay.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Commit {
public:
    // Clears the plan.
    Commit(ClusterState& state, EffectList& effects, CyclePlan& plan);

    [[nodiscard]] const ClusterState& state() const { return state_; }
    [[nodiscard]] const CyclePlan& plan() const { return plan_; }  // the decisions so far
    // For searches, which make no decision.
    [[nodiscard]] Overlay overlay() { return {state_, state_.nodes.capacity(Key<Commit>{})}; }

    // --- begin and end of a cycle ---
    [[nodiscard]] std::vector<JobId> take_changed_jobs();
    // Settles the last round of binds of the job. Then the job joins its queue if it can be tried.
    void refresh(JobId job, Readiness& ready);
    // Sends again the binds, and the evictions older than `before`, that an earlier term sent and
    // that have no answer.
    void resend_binds();
    void resend_evictions(EffectId before);
    void settle_guarantees();
    // Unfinished: this cycle did not try all jobs. Idle: another cycle would change nothing.
    void end_cycle(bool is_unfinished, bool is_idle);
    void note_effort(const CyclePlan::Effort& effort) { plan_.effort = effort; }

    // --- placements ---
    // Places all pods of the round or none. False: the state does not allow it.
    [[nodiscard]] bool place(JobId job, const std::vector<Placement>& round, bool all_or_nothing,
                             CyclePlan::PlacedFor why);
    void mark_long(JobId job, bool is_long);

    // --- preemption ---
    // Evicts the victims and earmarks for the job the places in `round`, which fits when the
    // victims have terminated.
    void nominate(JobId job, const std::vector<Placement>& round,
                  const std::vector<Victim>& victims, EvictionCause cause);
    void drop_nomination(JobId job);
    // Requests postponed evictions of the job's victims that are due now.
    void retry_evictions(JobId job);
    // Evicts pods of one job from nodes that are being drained, or to restart a gang.
    void evict(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why);
    void finish_drain();
    // Jobs of the queue may preempt pods that are protected until `at`, so the queue is tried again
    // then.
    void retry_preemption_at(QueueId queue, Instant at);

    // --- elastic jobs ---
    void resize(JobId job, std::int32_t ranks, Cause why,
                EvictionCause cause = EvictionCause::shrunk);
    // Ranks from `from_rank` on wait for room that is about to be released; 0: no rank waits.
    void defer_growth(JobId job, std::int32_t from_rank);

    // --- reservations ---
    void reserve_for_head(PoolId pool, HeadReservation of);  // no job: drops the reservation
    void reserve_quota(PoolId pool, HeadReservation of);
    // Replaces all quota reservations of the pool. True: the new ones differ, and jobs behind them
    // are tried again.
    [[nodiscard]] bool set_quota_reservations(PoolId pool, std::vector<HeadReservation> all);
    // The times of the pool's quota reservations may have changed.
    void note_quota_moved(PoolId pool);

    // --- refusals ---
    // Blocks the class: it is not tried until something changes that the block watches.
    void block(ClassId of, const ClassBlock& block);
    // Blocks the class and reports the reason to the job that was tried for its class.
    void refuse(ClassId of, JobId tried, const ClassBlock& block);
    // Reports why the job cannot be tried.
    void refuse(JobId job, Reason hold, Explanation explanation);
    // Tries the job again when the period of this budget ends.
    void await_budget(JobId job, const LimitHit& budget);
    void report(JobId job, Explanation explanation);

private:
    ClusterState& state_;
    EffectList& effects_;
    CyclePlan& plan_;
};

}  // namespace gpuctl
