#pragma once
// One job's turn: its pods are placed; otherwise pods are evicted for it; otherwise its class is
// refused and the reason is reported.

#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/cycle/attempt.hpp"
#include "scheduler/plan/cycle/known_explanations.hpp"
#include "scheduler/plan/cycle/make_room.hpp"
#include "scheduler/plan/cycle/refused_shapes.hpp"
#include "scheduler/plan/pool_turn.hpp"

namespace gpuctl {

class JobStarter {
public:
    explicit JobStarter(Placer& placer) : placer_(placer) {}

    void begin_cycle() {
        explanations_.clear();
        room_maker_.open();
    }
    // Tries the first job of the class.
    AttemptResult attempt(Commit& commit, PoolTurn& turn, ClassId chosen);
    // Called for a job that changed: uses its nomination, returns it to its queue, or reports why
    // it cannot be tried.
    void refresh(Commit& commit, JobId job);
    // Reads a job without trying it. At most one Attempt exists at a time.
    [[nodiscard]] Attempt read_job(const ClusterState& state, JobId job) {
        return {state, job, buffers_};
    }
    // True if room would not help the job because a limit blocks the smallest size that it can
    // start with. Leaves that size in `pods`.
    bool is_limited(const ClusterState& state, PoolTurn& turn, Attempt& attempt);

private:
    // True if the smallest size was placed completely (a gang), or at least one pod (other jobs).
    bool place_gang(Commit& commit, PoolTurn& turn, Attempt& attempt);
    bool place_one_by_one(Commit& commit, PoolTurn& turn, Attempt& attempt);
    bool find_room(const Overlay& overlay, const PoolTurn& turn, Attempt& attempt);  // for `pods`
    static bool place(Commit& commit, PoolTurn& turn, Attempt& attempt, bool all_or_nothing);
    // The evictions that were decided for the job; null: none.
    const EvictionPlan* make_room(Commit& commit, PoolTurn& turn, Attempt& attempt);
    bool is_within_limits(const ClusterState& state, PoolTurn& turn, Attempt& attempt);
    void refuse(Commit& commit, PoolTurn& turn, Attempt& attempt, ClassId chosen);

    Placer& placer_;
    RoomMaker room_maker_{placer_};
    RefusedShapes refused_shapes_;
    KnownExplanations explanations_;
    AttemptBuffers buffers_;
};

}  // namespace gpuctl
