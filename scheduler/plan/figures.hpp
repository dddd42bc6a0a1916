#pragma once

#include <cstdint>
#include <vector>

namespace gpuctl {

// Counters of the engine's own work and of what became of it, monotonic since construction; read by
// metrics/recorder.
struct EngineFigures {
    std::uint64_t plans = 0;
    std::uint64_t attempts = 0;    // jobs tried
    std::uint64_t placements = 0;  // ranks placed
    std::uint64_t skipped_by_negative_cache = 0;
    std::uint64_t promise_searches = 0;  // through all that runs in a pool
    std::uint64_t gang_rollbacks = 0;
    // Pods that went for others, and work of theirs that has to be done again.
    std::uint64_t pods_reclaimed = 0;  // for another queue, which was guaranteed their GPUs
    std::uint64_t pods_preempted = 0;  // for a job of higher priority in their own
    std::uint64_t pods_drained = 0;    // from nodes that are to be empty
    std::uint64_t pods_stranded = 0;   // of gangs that had lacked ranks for too long
    std::uint64_t lost_gpu_seconds = 0;
    // Ranks of elastic jobs.
    std::uint64_t ranks_grown = 0;        // placed beyond what the job had to have
    std::uint64_t ranks_shrunk = 0;       // gone for others
    std::vector<std::uint64_t> refusals;  // by Reason
};

}  // namespace gpuctl
