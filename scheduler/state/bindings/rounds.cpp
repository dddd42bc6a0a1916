// Rounds: the pods of a job that were placed together, from assumption to all bound or given up.
// A gang's round is all or nothing: refused members are tried again until the deadline with all
// reservations kept; then it is complete, undone, or half bound (G4, G5).

#include <algorithm>
#include <set>

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {

namespace {

// Some of it holds and may stay: an eviction that was asked for may be refused or withdrawn.
bool is_there(const std::vector<PodRow>& pods, const JobRow& job) {
    return std::any_of(job.pods.begin(), job.pods.end(), [&pods](PodId id) {
        const PodRow& pod = pods[id.value()];
        return pod.bind.state == BindState::bound && !pod.facts.terminating;
    });
}

// All of it was bound when it was first seen, and some were leaving already: stopped by an admin,
// or by one who led before and asked no more of them. It is no half of a gang that never started.
bool ran_before(const std::vector<PodRow>& pods, const JobRow& job, const GangSize& size) {
    GangTally ran{size};
    bool is_leaving = false;
    for (const PodId id : job.pods) {
        const PodRow& pod = pods[id.value()];
        const bool was_seen = pod.bind.state == BindState::bound && !pod.bind.placed_at.happened();
        if (!was_seen || pod.bind.delete_in_flight) continue;
        is_leaving = is_leaving || pod.is_leaving();
        ran.add(pod.facts.role);
    }
    return is_leaving && ran.is_whole();
}

// A gang of which nothing is left starts like any other.
void forget_run(JobRow& job) {
    job.gang.started = job.gang.started && planted(PlantedBug::remember_stopped_gangs);
}

}  // namespace

bool Bindings::assume(JobId id, const std::vector<Placement>& round, bool all_or_nothing,
                      EffectList& effects, LetIn let_in) {
    JobRow& job = state_.jobs.rows()[id.value()];
    Load ask;
    {
        Transaction check{state_.nodes.capacity(), check_log_};
        for (const Placement& placement : round) {
            const PodRow& pod = state_.pods.rows()[placement.pod.value()];
            const Shape& shape = state_.pods.shapes().at(pod.shape);
            if (pod.bind.state != BindState::waiting || pod.facts.terminating) return false;
            if (!state_.nodes.rows()[placement.node.value()].known) return false;
            const std::uint32_t slot = placement.node.value();
            if (!state_.nodes.capacity().fits(slot, shape.needs)) return false;
            if (!state_.nodes.capacity().fits_on(slot, shape.needs, placement.device)) return false;
            check.take(slot, shape.needs, 1, placement.device);
            ask.add({shape.gpus, shape.cpu, shape.memory});
        }
    }
    bool within = true;
    visit_limits(state_, job, ask, [&](const LimitHit& hit) {
        within = is_budget(hit.kind) && let_in == LetIn::when_claimed;
        return within;
    });
    if (!within && !planted(PlantedBug::grow_past_limits)) return false;
    if (crosses_model_limit(state_, job, round)) return false;
    if (state_.gangs.breaks_topology(job, round) || state_.gangs.mixes_models(round)) return false;
    if (state_.maintenance.has_windows() && state_.maintenance.is_barred(job, round)) return false;
    state_.waiting.leave_queue(id);
    if (all_or_nothing) {
        ++job.gang.attempt;
        if (!planted(PlantedBug::forget_gang_deadline)) {
            job.gang.deadline =
                state_.session.event_time() + state_.session.policy().gang_bind_deadline;
        }
        if (!is_there(state_.pods.rows(), job))
            forget_run(job);  // it was claimed for, and is not settled yet
        job.gang.member_refused = false;
        state_.session.set_timer(id);
    }
    for (const Placement& placement : round) {
        PodRow& pod = state_.pods.rows()[placement.pod.value()];
        pod.bind.placed_at =
            state_.session.event_time();  // before it holds: its end counts from here
        state_.pods.hold(placement.pod, placement.node, placement.device);
        pod.bind.state = BindState::assumed;
        pod.report.start_reported = false;
        send_bind(placement.pod, job, effects);
    }
    return true;
}

void Bindings::send_bind(PodId id, const JobRow& job, EffectList& effects) {
    PodRow& pod = state_.pods.rows()[id.value()];
    pod.bind.effect = state_.session.next_effect();
    pod.bind.in_flight = true;
    const Instant deadline =
        job.gang.deadline.happened()
            ? job.gang.deadline
            : state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    auto& bind = effects.reuse<BindPod>();
    bind.id = pod.bind.effect;
    bind.epoch = planted(PlantedBug::old_epoch) ? Epoch{1} : state_.session.epoch();
    bind.pod.key = pod.facts.key;
    bind.pod.uid = pod.facts.uid;
    bind.node = state_.nodes.rows()[pod.node.value()].facts.name;
    bind.gang_attempt = pod.facts.gang ? job.gang.attempt : 0;
    bind.deadline = deadline;
    bind.gpu_device = planted(PlantedBug::bind_without_device) ? kNoDevice : pod.gpu_device;
    pod.bind.deadline = deadline;
}

// After a restart or in a new term: every answer that never came is asked for again. While nobody
// was there others may have taken the room, and nodes may have gone: such a bind is as one that
// failed, whose room is kept until it can land no more.
void Bindings::resend_unanswered(EffectList& effects) {
    state_.session.resend_due() = false;
    state_.nominations.look_at_claims();  // before their evictions: resend_evictions()
    if (planted(PlantedBug::forget_unanswered)) return;
    for (const auto& [key, id] : state_.jobs.job_ids()) {
        JobRow& job = state_.jobs.rows()[id.value()];
        for (const PodId pod_id : job.pods) {
            PodRow& pod = state_.pods.rows()[pod_id.value()];
            if (pod.bind.state == BindState::assumed && pod.bind.in_flight) {
                if (job.gang.deadline.happened()) {
                    job.gang.deadline =
                        state_.session.event_time() + state_.session.policy().gang_bind_deadline;
                    state_.session.set_timer(id);
                    state_.jobs.mark_dirty(
                        id);  // members that were too late may be asked for again, too
                }
                pod.bind.unsure_until = std::max(pod.bind.unsure_until, pod.bind.deadline);
                if (!still_fits(pod)) {
                    pod.bind.in_flight = false;
                    state_.jobs.mark_dirty(id);
                    continue;
                }
                send_bind(pod_id, job, effects);
                if (planted(PlantedBug::forget_assumed_on_recovery)) state_.pods.release(pod_id);
            }
            if (pod.bind.delete_in_flight && !pod.facts.terminating) {
                effects.add(DeletePod{state_.session.next_effect(),
                                      state_.session.epoch(),
                                      {pod.facts.key, pod.facts.uid}});
            }
        }
    }
}

struct Bindings::Round {
    explicit Round(const GangSize& size) : settled(size), held(size) {}
    std::int64_t in_flight = 0;
    std::int64_t to_retry = 0;  // assumed, answered "failed"
    std::int64_t bound = 0;     // and not asked to go
    std::int64_t unreported = 0;
    GangTally settled;  // bound or succeeded
    GangTally held;     // with those that are assumed
    [[nodiscard]] std::int64_t assumed() const { return in_flight + to_retry; }
};

Bindings::Round Bindings::count_round(const JobRow& job, const GangSize& size) const {
    Round round{size};
    round.settled.add(job.gang.finished);
    round.held.add(job.gang.finished);
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const bool is_assumed = pod.bind.state == BindState::assumed;
        if (is_assumed) ++(pod.bind.in_flight ? round.in_flight : round.to_retry);
        const bool is_bound =
            pod.bind.state == BindState::bound && !pod.is_leaving() && !pod.bind.delete_in_flight;
        if (is_bound) ++round.bound;
        const bool succeeded =
            pod.bind.state == BindState::done && pod.facts.phase == PodPhase::succeeded;
        if (is_bound || succeeded) round.settled.add(pod.facts.role);
        if (is_bound || succeeded || is_assumed) round.held.add(pod.facts.role);
        if (!pod.report.start_reported && pod.bind.state == BindState::bound) ++round.unreported;
    }
    return round;
}

void Bindings::settle_round(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    const GangSize size = state_.gangs.gang_of(job).value_or(GangSize{});
    if (size.ranks > 0) {
        state_.gangs.settle_gang(id, effects);
    } else {
        job.gang.short_since = Instant{};
        if (job.binding.not_before <= state_.session.event_time()) settle_unsure(id, effects);
    }
    const Round round = count_round(job, size);
    if (round.assumed() == 0 && round.unreported > 0) report_started(id, effects);
}

// Outside a gang a failed bind gives its room back, unless the same bind, sent in an earlier term,
// may still reach the API server: then it is asked for again, there and nowhere else.
void Bindings::settle_unsure(JobId id, EffectList& effects) {
    if (planted(PlantedBug::forget_failed_binds)) return;
    JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (!is_unsure(pod)) {
            give_up_assumption(pod_id);
        } else if (still_fits(pod)) {
            send_bind(pod_id, job, effects);
        } else {
            wait_until_sure(job, pod);
        }
    }
}

void Bindings::wait_until_sure(JobRow& job, const PodRow& pod) const {
    job.binding.not_before = std::max(job.binding.not_before, pod.bind.unsure_until + Duration{1});
}

namespace {

// Room that is claimed there is to come when others have gone: what is held stands before it.
bool is_overdrawn_by_claims(const ClusterState& state, const PodRow& of, const Need& need) {
    if (state.nominations.claims().empty()) return false;
    const Capacity& capacity = state.nodes.capacity();
    const bool is_part = capacity.kind(need.column) == ColumnKind::gpu_part;
    const Column column = is_part ? capacity.whole_column(need.column) : need.column;
    const auto is_part_of_it = [&](Column other) {
        return capacity.kind(other) == ColumnKind::gpu_part &&
               capacity.whole_column(other) == column;
    };
    std::int64_t claimed = 0;
    std::int64_t on_device = 0;  // but for claims
    std::set<std::int32_t> devices_claimed;
    std::set<std::int32_t> devices_held;
    for (const PodId id : state.node(of.node).pods) {
        const PodRow& pod = state.pod(id);
        const bool is_claimed = pod.bind.state == BindState::claimed;
        for (const Need& other : state.pods.shapes().at(pod.shape).needs) {
            if (is_claimed && other.column == column) claimed += other.amount;
            if (!is_part_of_it(other.column)) continue;
            (is_claimed ? devices_claimed : devices_held).insert(pod.gpu_device);
            const bool is_beside = is_part && pod.gpu_device == of.gpu_device;
            if (!is_claimed && is_beside) on_device += other.amount;
        }
    }
    // The first part takes a whole GPU out of the column.
    for (const std::int32_t device : devices_claimed) {
        if (!devices_held.contains(device)) claimed += kGpuMilliPerGpu;
    }
    const std::int64_t usable = capacity.usable(column, of.node.value());
    return usable + claimed >= 0 && on_device <= kGpuMilliPerGpu;
}

}  // namespace

// Nodes go and shrink while a reservation waits to be sent again.
bool Bindings::still_fits(const PodRow& pod) const {
    const NodeRow& node = state_.nodes.rows()[pod.node.value()];
    const WindowSet active = node.windows & state_.maintenance.calendar().active;
    bool fits = node.known && !pod.facts.terminating;
    if (active != 0)
        fits = fits && (active & ~reserved_for(state_, state_.jobs.rows()[pod.job.value()])) == 0;
    for (const Need& need : state_.pods.shapes().at(pod.shape).needs) {
        fits = fits &&
               (!state_.nodes.capacity().is_overdrawn(pod.node.value(), need, pod.gpu_device) ||
                is_overdrawn_by_claims(state_, pod, need));
    }
    return fits;
}

bool Bindings::is_unsure(const PodRow& pod) const {
    return pod.bind.unsure_until >= state_.session.event_time() && pod.bind.unsure_until.happened();
}

void Gangs::settle_gang(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    const GangSize size = *gang_of(job);
    const bool is_late =
        job.gang.deadline.happened() && job.gang.deadline <= state_.session.event_time();
    drop_unfit_members(id);
    if (!job.gang.started && ran_before(state_.pods.rows(), job, size)) job.gang.started = true;
    Bindings::Round round = state_.bindings.count_round(job, size);
    if (round.held.is_whole()) job.gang.member_refused = false;  // the others are enough
    if (round.in_flight > 0) {
        if (!is_late && !job.gang.member_refused) retry_members(id, effects);
        return;
    }
    if (round.to_retry > 0) {
        if (!is_late && !job.gang.member_refused) return retry_members(id, effects);
        bool may_land = false;
        for (const PodId pod : job.pods) {
            const PodRow& row = state_.pods.rows()[pod.value()];
            if (row.bind.state != BindState::assumed) continue;
            if (state_.bindings.is_unsure(row)) {
                state_.bindings.wait_until_sure(job, row);
                may_land = true;
            } else {
                state_.bindings.give_up_assumption(pod);
            }
        }
        if (may_land) return;
        state_.bindings.back_off(job);
        round = state_.bindings.count_round(job, size);
        if (round.bound == 0 && !round.settled.is_whole())
            ++state_.evictions.outcomes().gang_rollbacks;
    }
    const bool is_whole = round.settled.is_whole();
    if (is_whole || round.bound == 0) {  // ranks that succeeded hold nothing
        if (is_whole && !job.gang.started) {
            job.gang.started = true;
            const bool was_placed =
                state_.pods.rows()[job.pods.front().value()].bind.placed_at.happened();
            if (was_placed)
                job.elastic.grow_from =
                    state_.session.event_time() + state_.session.policy().growth_pause;
            state_.tree.note_victim(job.queue);
        }
        if (is_whole) {
            keep_whole_again(job);
        } else if (!is_there(state_.pods.rows(), job) ||
                   planted(PlantedBug::forget_gangs_asked_to_go)) {
            forget_run(job);
        }
        if (!is_whole && job.gang.member_refused) state_.bindings.back_off(job);
        job.gang.deadline = job.gang.short_since = Instant{};
        job.gang.member_refused = false;
        return;
    }
    // Half bound. One that ran as a whole before lost a member: the rest is placed first, nobody
    // is deleted; only who fits where it stands may have it stopped after a while (stranded.cpp).
    // One that never did is given its time, then undone if that can be done.
    if (job.gang.started && !planted(PlantedBug::roll_back_running_gangs)) {
        job.gang.deadline = Instant{};
        return;
    }
    if (!job.gang.deadline.happened())
        job.gang.deadline =
            state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    if ((is_late || job.gang.member_refused) && can_roll_back(job)) roll_back_gang(id, effects);
}

// A reservation that waits to be sent again is checked against the newest facts: on a node that
// went or shrank meanwhile it is given up, and with it the round unless the others are enough.
void Gangs::drop_unfit_members(JobId id) {
    JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (state_.bindings.still_fits(pod) || planted(PlantedBug::keep_unfit_members)) continue;
        if (!state_.bindings.is_unsure(pod)) state_.bindings.give_up_assumption(pod_id);
        job.gang.member_refused = true;
    }
}

void Gangs::retry_members(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    if (planted(PlantedBug::forget_retry_of_members)) return;
    if (job.binding.not_before > state_.session.event_time())
        return;  // the timer of the job comes back to it
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (state_.bindings.still_fits(pod) || planted(PlantedBug::keep_unfit_members)) {
            state_.bindings.send_bind(pod_id, job, effects);
        } else {
            state_.bindings.wait_until_sure(job, pod);
        }
    }
}

// Bare pods nobody would make again: those are never deleted (ruling 26).
bool Gangs::can_roll_back(const JobRow& job) const {
    return std::none_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        return pod.bind.state == BindState::bound && !pod.facts.has_controller;
    });
}

void Gangs::roll_back_gang(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod_id == job.pods.back() && planted(PlantedBug::roll_back_all_but_one)) break;
        if (pod.bind.state != BindState::bound || pod.facts.terminating ||
            pod.bind.delete_in_flight) {
            continue;
        }
        pod.bind.delete_in_flight = true;
        pod.report.start_reported = true;
        effects.add(DeletePod{
            state_.session.next_effect(), state_.session.epoch(), {pod.facts.key, pod.facts.uid}});
    }
    job.gang.is_rolling_back = true;
    state_.bindings.back_off(job);
    job.gang.deadline = Instant{};
    job.gang.member_refused = false;
}

}  // namespace gpuctl
