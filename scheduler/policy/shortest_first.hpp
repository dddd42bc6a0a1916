#pragma once
// The order `shortest`: what is done soonest goes first, by
//
//     log2(run time) - waited / ageing
//
// The run time is the geometric mean of what the job may take by its limit and what up to three of
// its owner's last jobs alike took; what its user says (expectedRunTime) stands for all of it. The
// geometric mean, because run times are spread over five orders of magnitude: one job that failed
// in seconds among long ones must count, but not rule.
//
// Where the pool stops long work for short (docs/adr/0018) the run time is what is left of the job
// instead, times its GPUs (work_left.hpp): the order and who may be stopped for whom are the same.
// Or they go by when they are due, and a job that has to begin now, or it would run on alone when
// all else is done, comes before them: of those the longest first.
//
// Scores are kept by class until a job of their owner ends; not of jobs that run in part.

#include <compare>
#include <cstdint>
#include <vector>

#include "scheduler/policy/work_left.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ShortestFirst {
public:
    // `patience`: one that has waited too long goes first, the oldest of them before the others.
    std::strong_ordering compare(const ClusterState& state, ClassId a, ClassId b, bool patience);
    // Of a class, by the first of its jobs; least goes first.
    std::int64_t score(const ClusterState& state, ClassId id) { return look_up(state, id).score; }
    // log2 of the predicted run time in ms, in 65536ths.
    std::int64_t run_time_log2(const ClusterState& state, ClassId id) {
        return look_up(state, id).run_time;
    }

private:
    std::int64_t predict(const ClusterState& state, const JobRow& job);

    struct Kept {
        std::uint64_t serial = 0;    // of the class
        std::uint64_t revision = 0;  // of its owner's history
        JobId job;
        std::size_t pods = 0;  // of the job: more ranks are other GPUs to predict for
        PreemptionPolicy by;
        bool moves = false;
        std::int64_t run_time = 0;
        std::int64_t score = 0;
        Duration left;  // by what its user says; 0: nothing
    };
    const Kept& look_up(const ClusterState& state, ClassId id);
    std::vector<Kept> kept_;  // by ClassId
    WorkLeft left_;
    std::vector<Duration> runs_;
};

}  // namespace gpuctl
