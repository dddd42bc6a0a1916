// The round of a gang is all or nothing. Refused ranks are tried again until the deadline, while
// the room of all ranks stays held. Then the gang is whole, rolled back, or half bound.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

// True if a rank holds resources and may stay: a requested eviction may be refused or withdrawn.
bool is_there(const PodTable& pods, const JobRow& job) {
    return std::any_of(job.pods.begin(), job.pods.end(), [&pods](PodId id) {
        const PodRow& pod = pods[id.value()];
        return pod.bind.state == BindState::bound && !pod.facts.terminating;
    });
}

// True if all ranks were bound when they were first seen, and some were already terminating:
// stopped by an administrator or by an earlier leader. Such a gang did start as a whole.
bool ran_before(const PodTable& pods, const JobRow& job, const GangSize& size) {
    GangTally ran{size};
    bool is_terminating = false;
    for (const PodId id : job.pods) {
        const PodRow& pod = pods[id.value()];
        const bool was_seen = pod.bind.state == BindState::bound && !pod.bind.placed_at.happened();
        if (!was_seen || pod.bind.delete_in_flight) continue;
        is_terminating = is_terminating || pod.is_terminating();
        ran.add(pod.facts.role);
    }
    return is_terminating && ran.is_whole();
}

}  // namespace

void Gangs::settle_gang(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    GangRow& gang = state_.jobs.rows().gang(id, {});
    const GangSize size = *gang_of(job);
    const bool is_late = gang.deadline.happened() && gang.deadline <= state_.session.event_time();
    drop_unfit_members(id);
    if (!gang.started && ran_before(state_.pods.rows(), job, size)) gang.started = true;
    BindRound round = state_.bindings.count_round(job, size);
    if (round.held.is_whole()) gang.member_refused = false;  // the other ranks are enough
    if (round.in_flight > 0) {
        if (!is_late && gang.round() != GangRound::refused) retry_members(id, effects);
        return;
    }
    if (round.to_retry > 0) {
        if (!is_late && gang.round() != GangRound::refused) return retry_members(id, effects);
        bool may_land = false;
        for (const PodId pod : job.pods) {
            const PodRow& row = state_.pods.rows()[pod.value()];
            if (row.bind.state != BindState::assumed) continue;
            if (state_.bindings.is_unsure(row)) {
                state_.bindings.wait_until_sure(id, row);
                may_land = true;
            } else {
                state_.bindings.give_up_assumption(pod);
            }
        }
        if (may_land) return;
        state_.bindings.back_off(id);
        round = state_.bindings.count_round(job, size);
        if (round.bound == 0 && !round.settled.is_whole()) state_.evictions.note_gang_rolled_back();
    }
    const bool is_whole = round.settled.is_whole();
    if (is_whole || round.bound == 0) {  // succeeded ranks hold nothing
        if (is_whole && !gang.started) {
            gang.started = true;
            const bool was_placed =
                state_.pods.rows()[job.pods.front().value()].bind.placed_at.happened();
            if (was_placed) state_.elastic.pause_growth(id);
            state_.tree.note_victim(job.queue);
        }
        if (is_whole) {
            keep_whole_again(job);
        } else if (!is_there(state_.pods.rows(), job) ||
                   has_fault(SeededFault::forget_gangs_asked_to_go)) {
            forget_run(id);
        }
        if (!is_whole && gang.round() == GangRound::refused) state_.bindings.back_off(id);
        gang.short_since = Instant{};
        end_round(id);
        return;
    }
    // Half bound. If the gang was whole before, it lost a rank: the missing ranks are placed first,
    // and no pod is deleted. Only a job that fits on its room may have it evicted after a while
    // (stranded.cpp). A gang that was never whole is rolled back at the deadline, if possible.
    if (gang.started && !has_fault(SeededFault::roll_back_running_gangs)) {
        gang.deadline = Instant{};
        return;
    }
    if (!gang.deadline.happened())
        gang.deadline = state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    if ((is_late || gang.round() == GangRound::refused) && can_roll_back(job))
        roll_back_gang(id, effects);
}

// Checks assumed ranks whose bind is to be sent again against the newest facts. If a node has gone
// or shrunk, its rank is given up, and with it the round, unless the other ranks are enough.
void Gangs::drop_unfit_members(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (state_.bindings.still_fits(pod) || has_fault(SeededFault::keep_unfit_members)) continue;
        if (!state_.bindings.is_unsure(pod)) state_.bindings.give_up_assumption(pod_id);
        refuse_member(id);
    }
}

void Gangs::retry_members(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (has_fault(SeededFault::forget_retry_of_members)) return;
    if (job.binding.phase(state_.session.event_time()) == BindPhase::backing_off)
        return;  // the timer of the job tries again
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (state_.bindings.still_fits(pod) || has_fault(SeededFault::keep_unfit_members)) {
            state_.bindings.send_bind(pod_id, job, effects);
        } else {
            state_.bindings.wait_until_sure(id, pod);
        }
    }
}

// Pods without a controller are never deleted, because nothing would create them again.
bool Gangs::can_roll_back(const JobRow& job) const {
    return std::none_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        return pod.bind.state == BindState::bound && !pod.facts.has_controller;
    });
}

void Gangs::roll_back_gang(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod_id == job.pods.back() && has_fault(SeededFault::roll_back_all_but_one)) break;
        if (pod.bind.state != BindState::bound || pod.facts.terminating ||
            pod.bind.delete_in_flight) {
            continue;
        }
        state_.bindings.delete_pod(pod_id, effects);
    }
    state_.jobs.rows().gang(id, {}).is_rolling_back = true;
    state_.bindings.back_off(id);
    end_round(id);
}

void Gangs::begin_round(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    GangRow& gang = state_.jobs.rows().gang(id, {});
    ++gang.attempt;
    if (!has_fault(SeededFault::forget_gang_deadline)) {
        gang.deadline = state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    }
    // Only nominated room is held: the gang starts from nothing.
    if (!is_there(state_.pods.rows(), job)) forget_run(id);
    gang.member_refused = false;
    state_.session.set_timer(id);
}

void Gangs::note_no_gang(JobId id) { state_.jobs.rows().gang(id, {}).short_since = Instant{}; }

void Gangs::extend_round(JobId id) {
    Instant& deadline = state_.jobs.rows().gang(id, {}).deadline;
    if (!deadline.happened()) return;
    deadline = state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    state_.session.set_timer(id);
    // ranks whose backoff ended after the deadline may be sent again, too
    state_.jobs.mark_dirty(id);
}

void Gangs::refuse_member(JobId id) { state_.jobs.rows().gang(id, {}).member_refused = true; }

void Gangs::end_round(JobId id) {
    GangRow& gang = state_.jobs.rows().gang(id, {});
    gang.deadline = Instant{};
    gang.member_refused = false;
}

// A gang of which no rank is left starts like a new one.
void Gangs::forget_run(JobId id) {
    GangRow& gang = state_.jobs.rows().gang(id, {});
    gang.started = gang.started && has_fault(SeededFault::remember_stopped_gangs);
}

}  // namespace gpuctl
