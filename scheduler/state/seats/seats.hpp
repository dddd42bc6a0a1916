#pragma once
// The room that paused jobs keep: one seat for each bound pod that went because of the pause. A
// seat counts on its node, its device, and in its queue and namespace as the pod did.
//
// Owner, thread: ClusterState's.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/model/explanation/hold_facts.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

// A resumed job keeps seats for pods that its controller has not created yet for this time.
inline constexpr Duration kSeatsKept = Duration::seconds(600);

class Seats {
public:
    explicit Seats(ClusterState& state) : state_(state) {}

    void pause(JobId id, bool releases);
    void resume(JobId id);
    // Another client lets the object have pods, or none: the cluster decides.
    void note_workload(JobId id, const WorkloadFacts& facts);
    void undo(JobId id, bool was_paused);  // the cluster refused the change
    void forget(JobId id);                 // it is deleted, or its object is gone: its seats, too
    // The room of a pod that is about to release it, if its job keeps that; otherwise no node.
    [[nodiscard]] Placement kept_of(PodId pod) const;
    void lose_seats_on(NodeId node);  // the node is gone
    // Nominates the seats of a resumed job for the pods that it has in their place.
    void settle(JobId id, EffectList& effects);
    // When the engine has to look at it again; never: no time.
    [[nodiscard]] static Instant next_end(const JobRow& job) { return job.pause.seats_until; }

    [[nodiscard]] static bool is_paused(const JobRow& job) {
        return job.pause.phase == PausePhase::paused;
    }
    [[nodiscard]] static bool is_seat(const PodRow& pod) {
        return pod.bind.state == BindState::seat;
    }
    [[nodiscard]] fact::Paused paused(const JobRow& job) const;

private:
    void drop_seats(JobId id);
    void set_pause(JobId id, PauseRow pause);
    [[nodiscard]] std::vector<Placement> seats_for(const JobRow& job, const Readiness& ready,
                                                   std::vector<PodId>& used) const;

    ClusterState& state_;
};

}  // namespace gpuctl
