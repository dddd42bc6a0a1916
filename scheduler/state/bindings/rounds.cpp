// Rounds: pods of a job that were placed together, from their assumption until all are bound or
// given up. The round of a gang: scheduler/state/gangs/rounds_of_gangs.cpp.

#include <algorithm>
#include <set>

#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {

bool Bindings::assume(JobId id, const std::vector<Placement>& round, bool all_or_nothing,
                      EffectList& effects, LetIn let_in) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    Load ask;
    {
        Transaction check{state_.nodes.capacity(Key<Bindings>{}), check_log_};
        for (const Placement& placement : round) {
            const PodRow& pod = state_.pods.rows()[placement.pod.value()];
            const Shape& shape = state_.pods.shapes().at(pod.shape);
            if (pod.bind.state != BindState::waiting || pod.facts.terminating) return false;
            if (!state_.nodes.rows()[placement.node.value()].known) return false;
            const std::uint32_t slot = placement.node.value();
            if (!state_.nodes.capacity().fits(slot, shape.needs)) return false;
            if (!state_.nodes.capacity().fits_on(slot, shape.needs, placement.device)) return false;
            check.occupy(slot, shape.needs, 1, placement.device);
            ask.add({shape.gpus, shape.cpu, shape.memory});
        }
    }
    bool within = true;
    visit_limits(state_, job, ask, [&](const LimitHit& hit) {
        within = is_budget(hit.kind) && let_in == LetIn::when_nominated;
        return within;
    });
    if (!within && !has_fault(SeededFault::grow_past_limits)) return false;
    if (crosses_model_limit(state_, job, round)) return false;
    if (state_.gangs.breaks_topology(job, round) || state_.gangs.mixes_models(round)) return false;
    if (state_.maintenance.has_windows() && state_.maintenance.is_barred(job, round)) return false;
    state_.waiting.leave_queue(id);
    if (all_or_nothing) state_.gangs.begin_round(id);
    for (const Placement& placement : round) {
        BindRow& bind = state_.pods.rows().bind(placement.pod, {});
        // before it holds: its end counts from this time
        bind.placed_at = state_.session.event_time();
        state_.pods.hold(placement.pod, placement.node, placement.device);
        bind.state = BindState::assumed;
        state_.waiting.expect_start(placement.pod);
        send_bind(placement.pod, job, effects);
    }
    return true;
}

void Bindings::send_bind(PodId id, const JobRow& job, EffectList& effects) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    BindRow& row = state_.pods.rows().bind(id, {});
    row.effect = state_.session.next_effect();
    row.in_flight = true;
    const Instant deadline =
        job.gang.deadline.happened()
            ? job.gang.deadline
            : state_.session.event_time() + state_.session.policy().gang_bind_deadline;
    auto& bind = effects.reuse<BindPod>();
    bind.id = row.effect;
    bind.epoch = has_fault(SeededFault::old_epoch) ? Epoch{1} : state_.session.epoch();
    bind.pod.key = pod.facts.key;
    bind.pod.uid = pod.facts.uid;
    bind.node = state_.nodes.rows()[pod.node.value()].facts.name;
    bind.gang_attempt = pod.facts.gang ? job.gang.attempt : 0;
    bind.deadline = deadline;
    bind.gpu_device = has_fault(SeededFault::bind_without_device) ? kNoDevice : pod.gpu_device;
    row.deadline = deadline;
}

// After a restart or in a new term: every bind and deletion without an outcome is sent again. Other
// pods may have taken the room meanwhile, or the node may be gone. Then the bind counts as failed,
// and its room stays held until it can no longer succeed.
void Bindings::resend_unanswered(EffectList& effects) {
    state_.session.note_resent();
    state_.nominations.revisit_nominations();  // before their evictions: resend_evictions()
    if (has_fault(SeededFault::forget_unanswered)) return;
    for (const auto& [key, id] : state_.jobs.job_ids()) {
        const JobRow& job = state_.jobs.rows()[id.value()];
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state_.pods.rows()[pod_id.value()];
            BindRow& bind = state_.pods.rows().bind(pod_id, {});
            if (bind.state == BindState::assumed && bind.in_flight) {
                state_.gangs.extend_round(id);
                bind.unsure_until = std::max(bind.unsure_until, bind.deadline);
                if (!still_fits(pod)) {
                    bind.in_flight = false;
                    state_.jobs.mark_dirty(id);
                    continue;
                }
                send_bind(pod_id, job, effects);
                if (has_fault(SeededFault::forget_assumed_on_recovery)) state_.pods.release(pod_id);
            }
            if (bind.delete_in_flight && !pod.facts.terminating) send_delete(pod, effects);
        }
    }
}

void Bindings::send_delete(const PodRow& pod, EffectList& effects) {
    effects.add(DeletePod{
        state_.session.next_effect(), state_.session.epoch(), {pod.facts.key, pod.facts.uid}});
}

void Bindings::delete_pod(PodId id, EffectList& effects) {
    state_.pods.rows().bind(id, {}).delete_in_flight = true;
    state_.waiting.forget_start(id);
    send_delete(state_.pods.rows()[id.value()], effects);
}

BindRound Bindings::count_round(const JobRow& job, const GangSize& size) const {
    BindRound round{size};
    round.settled.add(job.gang.finished);
    round.held.add(job.gang.finished);
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const bool is_assumed = pod.bind.state == BindState::assumed;
        if (is_assumed) ++(pod.bind.in_flight ? round.in_flight : round.to_retry);
        const bool is_bound = pod.bind.state == BindState::bound && !pod.is_terminating() &&
                              !pod.bind.delete_in_flight;
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
    const JobRow& job = state_.jobs.rows()[id.value()];
    const GangSize size = state_.gangs.gang_of(job).value_or(GangSize{});
    if (size.ranks > 0) {
        state_.gangs.settle_gang(id, effects);
    } else {
        state_.gangs.note_no_gang(id);
        if (job.binding.phase(state_.session.event_time()) == BindPhase::ready)
            settle_unsure(id, effects);
    }
    const BindRound round = count_round(job, size);
    if (round.assumed() == 0 && round.unreported > 0) state_.waiting.report_started(id, effects);
}

// Outside a gang, a failed bind releases its room. Exception: the same bind was sent in an earlier
// term and may still succeed. Then it is sent again, for the same node.
void Bindings::settle_unsure(JobId id, EffectList& effects) {
    if (has_fault(SeededFault::forget_failed_binds)) return;
    const JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::assumed || pod.bind.in_flight) continue;
        if (!is_unsure(pod)) {
            give_up_assumption(pod_id);
        } else if (still_fits(pod)) {
            send_bind(pod_id, job, effects);
        } else {
            wait_until_sure(id, pod);
        }
    }
}

void Bindings::wait_until_sure(JobId id, const PodRow& pod) {
    Instant& not_before = state_.jobs.rows().binding(id, {}).not_before;
    not_before = std::max(not_before, pod.bind.unsure_until + Duration{1});
}

namespace {

// True if the node is overdrawn only by nominations. Nominated room becomes free when other pods
// have terminated, so a pod that holds room has precedence.
bool is_overdrawn_by_nominations(const ClusterState& state, const PodRow& of, const Need& need) {
    if (state.nominations.nominated_jobs().empty()) return false;
    const Capacity& capacity = state.nodes.capacity();
    const bool is_part = capacity.kind(need.column) == ColumnKind::gpu_part;
    const Column column = is_part ? capacity.whole_column(need.column) : need.column;
    const auto is_part_of_it = [&](Column other) {
        return capacity.kind(other) == ColumnKind::gpu_part &&
               capacity.whole_column(other) == column;
    };
    std::int64_t nominated = 0;
    std::int64_t on_device = 0;  // without nominated pods
    std::set<std::int32_t> devices_nominated;
    std::set<std::int32_t> devices_held;
    for (const PodId id : state.node(of.node).pods) {
        const PodRow& pod = state.pod(id);
        const bool is_nominated = pod.bind.state == BindState::nominated;
        for (const Need& other : state.pods.shapes().at(pod.shape).needs) {
            if (is_nominated && other.column == column) nominated += other.amount;
            if (!is_part_of_it(other.column)) continue;
            (is_nominated ? devices_nominated : devices_held).insert(pod.gpu_device);
            const bool is_on_device = is_part && pod.gpu_device == of.gpu_device;
            if (!is_nominated && is_on_device) on_device += other.amount;
        }
    }
    // The first fraction of a GPU takes a whole GPU out of the column.
    for (const std::int32_t device : devices_nominated) {
        if (!devices_held.contains(device)) nominated += kGpuMilliPerGpu;
    }
    const std::int64_t usable = capacity.usable(column, of.node.value());
    return usable + nominated >= 0 && on_device <= kGpuMilliPerGpu;
}

}  // namespace

// The node may have been removed or have shrunk since the bind was decided.
bool Bindings::still_fits(const PodRow& pod) const {
    const NodeRow& node = state_.nodes.rows()[pod.node.value()];
    const WindowSet active = node.windows & state_.maintenance.calendar().active;
    bool fits = node.known && !pod.facts.terminating;
    if (active != 0)
        fits = fits && (active & ~reserved_for(state_, state_.jobs.rows()[pod.job.value()])) == 0;
    for (const Need& need : state_.pods.shapes().at(pod.shape).needs) {
        fits = fits &&
               (!state_.nodes.capacity().is_overdrawn(pod.node.value(), need, pod.gpu_device) ||
                is_overdrawn_by_nominations(state_, pod, need));
    }
    return fits;
}

bool Bindings::is_unsure(const PodRow& pod) const {
    return pod.bind.unsure_until >= state_.session.event_time() && pod.bind.unsure_until.happened();
}

}  // namespace gpuctl
