#pragma once
// One attempt to start a job at its turn: the facts that were read about the job and the results of
// each step, which are passed from step to step (job_starter.hpp).

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Memory that is reused from attempt to attempt.
struct AttemptBuffers {
    Readiness ready;
    std::vector<PodId> pods;
    std::vector<Placement> round;
    std::vector<std::string_view> barred_models;
    std::vector<LimitHit> over_budget;
};

struct Attempt {
    Attempt(const ClusterState& state, JobId of, AttemptBuffers& buffers)
        : job(of),
          ready(buffers.ready),
          pods(buffers.pods),
          round(buffers.round),
          barred_models(buffers.barred_models),
          over_budget(buffers.over_budget) {
        barred_models.clear();
        over_budget.clear();
        state.waiting.read_readiness(job, ready);
    }
    // `pods` becomes the smallest size that the job can start with.
    void choose_smallest_size() {
        pods = ready.pods;
        pods.resize(ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1);
    }

    const JobId job;
    Readiness& ready;
    std::vector<PodId>& pods;                      // the pods to be placed now
    std::vector<Placement>& round;                 // where the pods were placed
    std::vector<std::string_view>& barred_models;  // GPU models that `pods` may not use
    std::size_t barred_with_alternative = 0;  // number of barred models that the job can do without
    std::vector<LimitHit>& over_budget;       // budgets with too little GPU time for the job
    bool is_long = false;                     // the short-job reserve applies
    bool avoids_windows = false;              // it avoids maintenance windows that have not begun
    // it avoids capacity that is reserved for the head-of-line job
    bool avoids_reservation = false;
    HeadReservation behind;            // head-of-line job under a limit for which quota is reserved
    std::uint16_t watch = 0;           // changes that may lift its refusal, see ClassBlock
    std::uint64_t known_refusals = 0;  // searches that were skipped because the result was known
};

// Changes of an attempt that affect the cycle.
struct AttemptResult {
    bool is_turn_lost = false;     // a victim's job is to be tried before other jobs
    bool has_moved_quota = false;  // of quota reservations of another pool
    std::uint64_t known_refusals = 0;
};

}  // namespace gpuctl
