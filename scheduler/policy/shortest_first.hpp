#pragma once
// The order `shortest` (shortest job first with ageing): lowest score first, where the score is
//
//     log2(run time) - waited / ageing
//
// The run time is the geometric mean of the job's limit and the run times of up to three similar
// recent jobs of its owner; a stated expectedRunTime replaces all of these. The geometric mean is
// used because run times span five orders of magnitude: one job that failed in seconds among long
// jobs must count, but not dominate.
//
// If the pool preempts long work for short work (docs/adr/0018), the run time is the remaining run
// time times the GPUs (remaining_work.hpp), as in the rule for preemption. If the pool orders by
// due times, the due time replaces it. A job that must begin now, because it would run alone after
// all other work otherwise, precedes all of these; of several such jobs the longest is first.
//
// Scores are cached by class until a job of the same owner ends, except for jobs of which some pods
// run.

#include <compare>
#include <cstdint>
#include <vector>

#include "scheduler/policy/remaining_work.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ShortestFirst {
public:
    // `patience`: jobs that have waited too long precede other jobs, the oldest first.
    std::strong_ordering compare(const ClusterState& state, ClassId a, ClassId b, bool patience);
    // The score of a class, which is that of its first job. The lowest score is first.
    std::int64_t score(const ClusterState& state, ClassId id) { return look_up(state, id).score; }
    // log2 of the predicted run time in ms, in units of 1/65536.
    std::int64_t run_time_log2(const ClusterState& state, ClassId id) {
        return look_up(state, id).run_time;
    }

private:
    std::int64_t predict(const ClusterState& state, const JobRow& job);

    struct Kept {
        std::uint64_t serial = 0;    // of the class
        std::uint64_t revision = 0;  // of the history of its owner
        JobId job;
        std::size_t pods = 0;  // of the job: with other ranks the prediction is for other GPUs
        PreemptionPolicy by;
        bool moves = false;
        std::int64_t run_time = 0;
        std::int64_t score = 0;
        Duration left;  // remaining run time by the user's statement; 0: not stated
    };
    const Kept& look_up(const ClusterState& state, ClassId id);
    std::vector<Kept> kept_;  // by ClassId
    RemainingWork left_;
    std::vector<Duration> runs_;
};

}  // namespace gpuctl
