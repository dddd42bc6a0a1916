// Rounds: the pods of a job that were placed together, from assumption to all bound or given up.
// A gang's round is all or nothing: refused members are tried again until the deadline with all
// reservations kept; then it is complete, undone, or half bound (G4, G5).

#include <algorithm>
#include <set>

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/lateness.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/state/wait_target.hpp"

namespace gpuctl {

namespace {

// Some of it holds and may stay: an eviction that was asked for may be refused or withdrawn.
bool is_there(const std::vector<PodRow>& pods, const JobRow& job) {
    return std::any_of(job.pods.begin(), job.pods.end(), [&pods](PodId id) {
        const PodRow& pod = pods[id.value()];
        return pod.standing == PodStanding::bound && !pod.facts.terminating;
    });
}

// All of it was bound when it was first seen, and some were leaving already: stopped by an admin,
// or by one who led before and asked no more of them. It is no half of a gang that never started.
bool ran_before(const std::vector<PodRow>& pods, const JobRow& job, const GangSize& size) {
    GangTally ran{size};
    bool is_leaving = false;
    for (const PodId id : job.pods) {
        const PodRow& pod = pods[id.value()];
        const bool was_seen = pod.standing == PodStanding::bound && !pod.placed_at.happened();
        if (!was_seen || pod.delete_in_flight) continue;
        is_leaving = is_leaving || pod.is_leaving();
        ran.add(pod.facts.role);
    }
    return is_leaving && ran.is_whole();
}

// A gang of which nothing is left starts like any other.
void forget_run(JobRow& job) {
    job.gang_started = job.gang_started && planted(PlantedBug::remember_stopped_gangs);
}

}  // namespace

bool ClusterState::assume(JobId id, const std::vector<Placement>& round, bool all_or_nothing,
                          EffectList& effects, LetIn let_in) {
    JobRow& job = jobs_[id.value()];
    Load ask;
    {
        Transaction check{capacity_, check_log_};
        for (const Placement& placement : round) {
            const PodRow& pod = pods_[placement.pod.value()];
            const Shape& shape = shapes_.at(pod.shape);
            if (pod.standing != PodStanding::waiting || pod.facts.terminating) return false;
            if (!nodes_[placement.node.value()].known) return false;
            const std::uint32_t slot = placement.node.value();
            if (!capacity_.fits(slot, shape.needs)) return false;
            if (!capacity_.fits_on(slot, shape.needs, placement.device)) return false;
            check.take(slot, shape.needs, 1, placement.device);
            ask.add({shape.gpus, shape.cpu, shape.memory});
        }
    }
    bool within = true;
    visit_limits(*this, job, ask, [&](const LimitHit& hit) {
        within = is_budget(hit.kind) && let_in == LetIn::when_claimed;
        return within;
    });
    if (!within && !planted(PlantedBug::grow_past_limits)) return false;
    if (crosses_model_limit(*this, job, round)) return false;
    if (breaks_topology(job, round) || mixes_models(round)) return false;
    if (has_windows() && is_barred(job, round)) return false;
    leave_queue(id);
    if (all_or_nothing) {
        ++job.gang_attempt;
        if (!planted(PlantedBug::forget_gang_deadline)) {
            job.gang_deadline = now_ + policy_.gang_bind_deadline;
        }
        if (!is_there(pods_, job)) forget_run(job);  // it was claimed for, and is not settled yet
        job.member_refused = false;
        set_timer(id);
    }
    for (const Placement& placement : round) {
        PodRow& pod = pods_[placement.pod.value()];
        pod.placed_at = now_;  // before it holds: its end counts from here
        hold(placement.pod, placement.node, placement.device);
        pod.standing = PodStanding::assumed;
        pod.start_reported = false;
        send_bind(placement.pod, job, effects);
    }
    return true;
}

void ClusterState::send_bind(PodId id, const JobRow& job, EffectList& effects) {
    PodRow& pod = pods_[id.value()];
    pod.effect = next_effect();
    pod.in_flight = true;
    const Instant deadline =
        job.gang_deadline.happened() ? job.gang_deadline : now_ + policy_.gang_bind_deadline;
    auto& bind = effects.reuse<BindPod>();
    bind.id = pod.effect;
    bind.epoch = planted(PlantedBug::old_epoch) ? Epoch{1} : epoch_;
    bind.pod.key = pod.facts.key;
    bind.pod.uid = pod.facts.uid;
    bind.node = nodes_[pod.node.value()].facts.name;
    bind.gang_attempt = pod.facts.gang ? job.gang_attempt : 0;
    bind.deadline = deadline;
    bind.gpu_device = planted(PlantedBug::bind_without_device) ? kNoDevice : pod.gpu_device;
    pod.bind_deadline = deadline;
}

// After a restart or in a new term: every answer that never came is asked for again. While nobody
// was there others may have taken the room, and nodes may have gone: such a bind is as one that
// failed, whose room is kept until it can land no more.
void ClusterState::resend_unanswered(EffectList& effects) {
    resend_due_ = false;
    look_at_claims();  // before their evictions: resend_evictions()
    if (planted(PlantedBug::forget_unanswered)) return;
    for (const auto& [key, id] : job_ids_) {
        JobRow& job = jobs_[id.value()];
        for (const PodId pod_id : job.pods) {
            PodRow& pod = pods_[pod_id.value()];
            if (pod.standing == PodStanding::assumed && pod.in_flight) {
                if (job.gang_deadline.happened()) {
                    job.gang_deadline = now_ + policy_.gang_bind_deadline;
                    set_timer(id);
                    mark_dirty(id);  // members that were too late may be asked for again, too
                }
                pod.unsure_until = std::max(pod.unsure_until, pod.bind_deadline);
                if (!still_fits(pod)) {
                    pod.in_flight = false;
                    mark_dirty(id);
                    continue;
                }
                send_bind(pod_id, job, effects);
                if (planted(PlantedBug::forget_assumed_on_recovery)) release(pod_id);
            }
            if (pod.delete_in_flight && !pod.facts.terminating) {
                effects.add(DeletePod{next_effect(),
                                      epoch_,
                                      {pod.facts.key, pod.facts.uid},
                                      "its gang could not be bound as a whole"});
            }
        }
    }
}

struct ClusterState::Round {
    explicit Round(const GangSize& size) : settled(size), held(size) {}
    std::int64_t in_flight = 0;
    std::int64_t to_retry = 0;  // assumed, answered "failed"
    std::int64_t bound = 0;     // and not asked to go
    std::int64_t unreported = 0;
    GangTally settled;  // bound or succeeded
    GangTally held;     // with those that are assumed
    [[nodiscard]] std::int64_t assumed() const { return in_flight + to_retry; }
};

ClusterState::Round ClusterState::count_round(const JobRow& job, const GangSize& size) const {
    Round round{size};
    round.settled.add(job.finished);
    round.held.add(job.finished);
    for (const PodId id : job.pods) {
        const PodRow& pod = pods_[id.value()];
        const bool is_assumed = pod.standing == PodStanding::assumed;
        if (is_assumed) ++(pod.in_flight ? round.in_flight : round.to_retry);
        const bool is_bound =
            pod.standing == PodStanding::bound && !pod.is_leaving() && !pod.delete_in_flight;
        if (is_bound) ++round.bound;
        const bool succeeded =
            pod.standing == PodStanding::done && pod.facts.phase == PodPhase::succeeded;
        if (is_bound || succeeded) round.settled.add(pod.facts.role);
        if (is_bound || succeeded || is_assumed) round.held.add(pod.facts.role);
        if (!pod.start_reported && pod.standing == PodStanding::bound) ++round.unreported;
    }
    return round;
}

void ClusterState::refresh(JobId id, Readiness& ready, EffectList& effects) {
    changes_.note(id);
    leave_queue(id);
    lift_refusals(jobs_[id.value()]);
    settle_round(id, effects);
    settle_size(id, effects);
    jobs_[id.value()].nears_wait_target = nears_wait_target(*this, jobs_[id.value()]);
    jobs_[id.value()].lateness = lateness_of(*this, jobs_[id.value()]);
    read_readiness(id, ready);
    if (ready.hold == Reason::none && !ready.pods.empty()) enter_queue(id, ready);
    note_stranded(id, ready);
    set_timer(id);
}

void ClusterState::settle_round(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    const GangSize size = gang_of(job).value_or(GangSize{});
    if (size.ranks > 0) {
        settle_gang(id, effects);
    } else {
        job.short_since = Instant{};
        if (job.not_before <= now_) settle_unsure(id, effects);
    }
    const Round round = count_round(job, size);
    if (round.assumed() == 0 && round.unreported > 0) report_started(id, effects);
}

// Outside a gang a failed bind gives its room back, unless the same bind, sent in an earlier term,
// may still reach the API server: then it is asked for again, there and nowhere else.
void ClusterState::settle_unsure(JobId id, EffectList& effects) {
    if (planted(PlantedBug::forget_failed_binds)) return;
    JobRow& job = jobs_[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = pods_[pod_id.value()];
        if (pod.standing != PodStanding::assumed || pod.in_flight) continue;
        if (!is_unsure(pod)) {
            give_up_assumption(pod_id);
        } else if (still_fits(pod)) {
            send_bind(pod_id, job, effects);
        } else {
            wait_until_sure(job, pod);
        }
    }
}

void ClusterState::wait_until_sure(JobRow& job, const PodRow& pod) const {
    job.not_before = std::max(job.not_before, pod.unsure_until + Duration{1});
}

namespace {

// Room that is claimed there is to come when others have gone: what is held stands before it.
bool is_overdrawn_by_claims(const ClusterState& state, const PodRow& of, const Need& need) {
    if (state.claims().empty()) return false;
    const Capacity& capacity = state.capacity();
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
        const bool is_claimed = pod.standing == PodStanding::claimed;
        for (const Need& other : state.shapes().at(pod.shape).needs) {
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
bool ClusterState::still_fits(const PodRow& pod) const {
    const NodeRow& node = nodes_[pod.node.value()];
    const WindowSet active = node.windows & calendar_.active;
    bool fits = node.known && !pod.facts.terminating;
    if (active != 0) fits = fits && (active & ~reserved_for(*this, jobs_[pod.job.value()])) == 0;
    for (const Need& need : shapes_.at(pod.shape).needs) {
        fits = fits && (!capacity_.is_overdrawn(pod.node.value(), need, pod.gpu_device) ||
                        is_overdrawn_by_claims(*this, pod, need));
    }
    return fits;
}

bool ClusterState::is_unsure(const PodRow& pod) const {
    return pod.unsure_until >= now_ && pod.unsure_until.happened();
}

void ClusterState::settle_gang(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    const GangSize size = *gang_of(job);
    const bool is_late = job.gang_deadline.happened() && job.gang_deadline <= now_;
    drop_unfit_members(id);
    if (!job.gang_started && ran_before(pods_, job, size)) job.gang_started = true;
    Round round = count_round(job, size);
    if (round.held.is_whole()) job.member_refused = false;  // the others are enough
    if (round.in_flight > 0) {
        if (!is_late && !job.member_refused) retry_members(id, effects);
        return;
    }
    if (round.to_retry > 0) {
        if (!is_late && !job.member_refused) return retry_members(id, effects);
        bool may_land = false;
        for (const PodId pod : job.pods) {
            const PodRow& row = pods_[pod.value()];
            if (row.standing != PodStanding::assumed) continue;
            if (is_unsure(row)) {
                wait_until_sure(job, row);
                may_land = true;
            } else {
                give_up_assumption(pod);
            }
        }
        if (may_land) return;
        back_off(job);
        round = count_round(job, size);
        if (round.bound == 0 && !round.settled.is_whole()) ++outcomes_.gang_rollbacks;
    }
    const bool is_whole = round.settled.is_whole();
    if (is_whole || round.bound == 0) {  // ranks that succeeded hold nothing
        if (is_whole && !job.gang_started) {
            job.gang_started = true;
            const bool was_placed = pods_[job.pods.front().value()].placed_at.happened();
            if (was_placed) job.elastic.grow_from = now_ + policy_.growth_pause;
            note_victim(job.queue);
        }
        if (is_whole) {
            keep_whole_again(job);
        } else if (!is_there(pods_, job) || planted(PlantedBug::forget_gangs_asked_to_go)) {
            forget_run(job);
        }
        if (!is_whole && job.member_refused) back_off(job);
        job.gang_deadline = job.short_since = Instant{};
        job.member_refused = false;
        return;
    }
    // Half bound. One that ran as a whole before lost a member: the rest is placed first, nobody
    // is deleted; only who fits where it stands may have it stopped after a while (stranded.cpp).
    // One that never did is given its time, then undone if that can be done.
    if (job.gang_started && !planted(PlantedBug::roll_back_running_gangs)) {
        job.gang_deadline = Instant{};
        return;
    }
    if (!job.gang_deadline.happened()) job.gang_deadline = now_ + policy_.gang_bind_deadline;
    if ((is_late || job.member_refused) && can_roll_back(job)) roll_back_gang(id, effects);
}

// A reservation that waits to be sent again is checked against the newest facts: on a node that
// went or shrank meanwhile it is given up, and with it the round unless the others are enough.
void ClusterState::drop_unfit_members(JobId id) {
    JobRow& job = jobs_[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = pods_[pod_id.value()];
        if (pod.standing != PodStanding::assumed || pod.in_flight) continue;
        if (still_fits(pod) || planted(PlantedBug::keep_unfit_members)) continue;
        if (!is_unsure(pod)) give_up_assumption(pod_id);
        job.member_refused = true;
    }
}

void ClusterState::retry_members(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    if (planted(PlantedBug::forget_retry_of_members)) return;
    if (job.not_before > now_) return;  // the timer of the job comes back to it
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = pods_[pod_id.value()];
        if (pod.standing != PodStanding::assumed || pod.in_flight) continue;
        if (still_fits(pod) || planted(PlantedBug::keep_unfit_members)) {
            send_bind(pod_id, job, effects);
        } else {
            wait_until_sure(job, pod);
        }
    }
}

// Bare pods nobody would make again: those are never deleted (ruling 26).
bool ClusterState::can_roll_back(const JobRow& job) const {
    return std::none_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = pods_[id.value()];
        return pod.standing == PodStanding::bound && !pod.facts.has_controller;
    });
}

void ClusterState::roll_back_gang(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    for (const PodId pod_id : job.pods) {
        PodRow& pod = pods_[pod_id.value()];
        if (pod_id == job.pods.back() && planted(PlantedBug::roll_back_all_but_one)) break;
        if (pod.standing != PodStanding::bound || pod.facts.terminating || pod.delete_in_flight) {
            continue;
        }
        pod.delete_in_flight = true;
        pod.start_reported = true;
        effects.add(DeletePod{next_effect(),
                              epoch_,
                              {pod.facts.key, pod.facts.uid},
                              "its gang could not be bound as a whole"});
    }
    job.is_rolling_back = true;
    back_off(job);
    job.gang_deadline = Instant{};
    job.member_refused = false;
}

}  // namespace gpuctl
