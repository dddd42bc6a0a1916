// Pauses, and the room that paused jobs keep (docs/adr/0043). A pod that goes because of the pause
// leaves a seat (Pods::add_seat); a resumed job gets its seats as nominated room, so that no other
// job takes them while its pods are created and bound.

#include "scheduler/state/seats/seats.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kNodesNamed = 4;

void name_node(std::vector<std::string>& names, const std::string& name) {
    const auto at = std::lower_bound(names.begin(), names.end(), name);
    if (at == names.end() || *at != name) names.insert(at, name);
}

}  // namespace

void Seats::set_pause(JobId id, PauseRow pause) {
    state_.jobs.rows().pause(id, {}) = std::move(pause);
    state_.jobs.mark_dirty(id);
    state_.session.set_timer(id);
}

void Seats::pause(JobId id, bool releases) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    PauseRow pause = job.pause;
    if (pause.phase != PausePhase::paused) pause.since = state_.session.event_time();
    pause.phase = PausePhase::paused;
    pause.seats_until = Instant{};
    pause.was_seen = false;
    // What an earlier pause released is not there to be kept.
    pause.releases = releases || (Seats::is_paused(job) && pause.releases);
    if (job.nomination.exists()) state_.nominations.drop_nomination(id);
    set_pause(id, std::move(pause));
    if (releases && !has_fault(SeededFault::keep_seats_after_release)) drop_seats(id);
}

void Seats::resume(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.seats.empty()) return set_pause(id, {});
    if (has_fault(SeededFault::drop_seats_on_resume)) return forget(id);
    PauseRow pause = job.pause;
    pause.phase = PausePhase::resuming;
    pause.since = state_.session.event_time();
    pause.seats_until = pause.since + kSeatsKept;
    set_pause(id, std::move(pause));
}

void Seats::undo(JobId id, bool was_paused) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (is_paused(job) == was_paused) return;
    if (!was_paused) return forget(id);
    PauseRow pause = job.pause;  // a job without seats has lost none, and releases nothing more
    pause.phase = PausePhase::paused;
    pause.seats_until = Instant{};
    set_pause(id, std::move(pause));
}

// What the watch shows may be older than our own change, until it has shown that once.
void Seats::note_workload(JobId id, const WorkloadFacts& facts) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (facts.phase == WorkloadPhase::complete || facts.phase == WorkloadPhase::failed)
        return forget(id);  // it ended before its pods could stop
    if (!is_paused(job)) return;
    const bool has_pods = facts.phase == WorkloadPhase::active && facts.replicas != 0;
    const bool is_ours = job.workload.due || job.workload.in_flight;
    if (has_pods && job.pause.was_seen && !is_ours) return resume(id);
    if (!has_pods) state_.jobs.rows().pause(id, {}).was_seen = true;
}

void Seats::forget(JobId id) {
    drop_seats(id);
    if (state_.jobs.rows()[id.value()].pause != PauseRow{}) set_pause(id, {});
}

void Seats::drop_seats(JobId id) {
    const std::vector<PodId> seats = state_.jobs.rows()[id.value()].seats;
    for (const PodId seat : seats) state_.pods.drop_seat(seat);
}

Placement Seats::kept_of(PodId id) const {
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (!pod.job.exists() || !pod.node.exists()) return {};
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    if (!is_paused(job) || job.workload.state != WorkloadState::created) return {};
    if (job.pause.releases && !has_fault(SeededFault::keep_seats_after_release)) return {};
    if (has_fault(SeededFault::keep_no_seats)) return {};
    const bool was_there = pod.bind.state == BindState::bound && !pod.bind.delete_in_flight &&
                           state_.nodes.rows()[pod.node.value()].known;
    // Its room goes to the job that it was evicted for, or its rank has finished.
    const bool gives_room = pod.is_surplus || pod.eviction.state != EvictionState::none;
    const bool has_finished = pod.facts.phase == PodPhase::succeeded && !pod.facts.terminating;
    if (!was_there || gives_room || has_finished) return {};
    return {PodId::none(), pod.node, pod.gpu_device};
}

void Seats::lose_seats_on(NodeId node) {
    const NodeRow& row = state_.nodes.rows()[node.value()];
    std::vector<PodId> lost;
    for (const PodId pod : row.pods) {
        if (is_seat(state_.pods.rows()[pod.value()])) lost.push_back(pod);
    }
    for (const PodId seat : lost) {
        const JobId job = state_.pods.rows()[seat.value()].job;
        PauseRow& pause = state_.jobs.rows().pause(job, {});
        ++pause.seats_lost;
        name_node(pause.nodes_lost, row.facts.name);
        state_.pods.drop_seat(seat);
    }
}

// For each pod the seat of its rank, or otherwise another one of its shape.
std::vector<Placement> Seats::seats_for(const JobRow& job, const Readiness& ready,
                                        std::vector<PodId>& used) const {
    std::vector<Placement> round;
    std::vector<PodId> free = job.seats;
    const auto assign_seat = [&](PodId id, bool same_rank) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const auto found = std::find_if(free.begin(), free.end(), [&](PodId seat_id) {
            const PodRow& seat = state_.pods.rows()[seat_id.value()];
            return seat.shape == pod.shape && (!same_rank || seat.facts.rank == pod.facts.rank);
        });
        if (found == free.end()) return false;
        const PodRow& seat = state_.pods.rows()[found->value()];
        round.push_back({id, seat.node, seat.gpu_device});
        used.push_back(*found);
        free.erase(found);
        return true;
    };
    std::vector<PodId> without;
    for (const PodId pod : ready.pods) {
        if (!assign_seat(pod, true)) without.push_back(pod);
    }
    for (const PodId pod : without) (void)assign_seat(pod, false);
    return round;
}

void Seats::settle(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (job.retention.phase() == RetentionPhase::in_full) return forget(id);
    if (job.pause.phase != PausePhase::resuming) return;
    if (job.seats.empty()) return set_pause(id, {});
    if (job.pause.seats_until <= state_.session.event_time()) return forget(id);
    if (job.nomination.exists()) return;
    Readiness ready;
    state_.waiting.read_readiness(id, ready);
    if (!ready.can_be_tried()) return;
    std::vector<PodId> used;
    const std::vector<Placement> round = seats_for(job, ready, used);
    // With room for a part of a gang, or for other pods than it has now, it queues as other jobs
    // do.
    const bool is_enough =
        !round.empty() && static_cast<std::int64_t>(round.size()) >= ready.ranks_at_once();
    if (!is_enough) return forget(id);
    for (const PodId seat : used) state_.pods.drop_seat(seat);
    state_.nominations.nominate(id, round, {}, EvictionCause::preempted, effects);
}

fact::Paused Seats::paused(const JobRow& job) const {
    fact::Paused out;
    out.releases = job.pause.releases;
    const auto add_room = [&](PodId id) {
        const PodRow& row = state_.pods.rows()[id.value()];
        out.gpus += state_.pods.shapes().at(row.shape).gpus;
        name_node(out.nodes, state_.nodes.rows()[row.node.value()].facts.name);
    };
    std::for_each(job.seats.begin(), job.seats.end(), add_room);
    for (const PodId id : job.pods) {  // those that still stop
        if (kept_of(id).node.exists()) add_room(id);
    }
    out.pods_lost = job.pause.seats_lost;
    out.nodes_lost = job.pause.nodes_lost;
    out.nodes_total = static_cast<std::int64_t>(out.nodes.size());
    out.nodes_lost_total = static_cast<std::int64_t>(out.nodes_lost.size());
    out.nodes.resize(std::min(out.nodes.size(), kNodesNamed));
    out.nodes_lost.resize(std::min(out.nodes_lost.size(), kNodesNamed));
    return out;
}

}  // namespace gpuctl
