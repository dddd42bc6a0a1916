#pragma once

#include <cstdint>
#include <vector>

namespace gpuctl {

struct CyclePlan;

// Counters of the engine's work and its effects, monotonic since construction. The daemon shows
// them as metrics (daemon/app/figures.cpp).
struct EngineFigures {
    std::uint64_t plans = 0;
    std::uint64_t attempts = 0;    // jobs tried
    std::uint64_t placements = 0;  // ranks placed
    std::uint64_t skipped_by_negative_cache = 0;
    // searches through all running work of a pool, for head-of-line reservations
    std::uint64_t reservation_searches = 0;
    std::uint64_t gang_rollbacks = 0;
    // Evicted pods, by cause.
    std::uint64_t pods_reclaimed = 0;  // for another queue, to satisfy its guarantee
    std::uint64_t pods_preempted = 0;  // for a job of higher priority in the same queue
    std::uint64_t pods_drained = 0;    // from nodes that are being drained
    std::uint64_t pods_stranded = 0;   // of gangs that had lacked ranks for too long
    std::uint64_t lost_gpu_seconds = 0;
    // Ranks of elastic jobs.
    std::uint64_t ranks_grown = 0;        // placed beyond the minimum of the job
    std::uint64_t ranks_shrunk = 0;       // released for other jobs
    std::vector<std::uint64_t> refusals;  // by Reason

    void count(const CyclePlan& plan);  // the decisions of one cycle
};

}  // namespace gpuctl
