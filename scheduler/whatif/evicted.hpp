#pragma once
// The pods that a trial evicted.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/pod.hpp"

namespace gpuctl::whatif {

// A pod that was evicted for another job, or a rank that an elastic job released.
struct EvictedPod {
    ObjectKey job;
    std::string pod;
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that is lost
    bool job_goes_on = false;
};

// A job that would be evicted, or lose ranks.
struct EvictedJob {
    ObjectKey key;
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that is lost
    bool goes_on = false;          // the job continues with fewer ranks
    std::vector<std::string> pods;
    bool at_most = false;  // this amount in one way to make the change, less or nothing in another
    friend bool operator==(const EvictedJob&, const EvictedJob&) = default;
};

// Sums by job, without the first `first` pods.
std::vector<EvictedJob> by_job(const std::vector<EvictedPod>& pods, std::size_t first = 0);
// For one change that can be made in several ways: for each job its largest loss.
std::vector<EvictedJob> in_any_way(const std::vector<std::vector<EvictedJob>>& ways);

}  // namespace gpuctl::whatif
