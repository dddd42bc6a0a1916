#pragma once
// Whom a trial had stopped for others.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/pod.hpp"

namespace gpuctl::whatif {

// Stopped for others, or taken from an elastic job that goes on without it.
struct StoppedPod {
    ObjectKey job;
    std::string pod;
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that it does again
    bool job_goes_on = false;
};

// A job that would be stopped, or lose ranks.
struct StoppedJob {
    ObjectKey key;
    GpuMilli gpus;
    std::int64_t lost_gpu_ms = 0;  // work that it does again
    bool goes_on = false;          // with fewer ranks
    std::vector<std::string> pods;
    bool at_most = false;  // as much as this in one way to do it, less or nothing in another
    friend bool operator==(const StoppedJob&, const StoppedJob&) = default;
};

// By job; those before `first` are left out.
std::vector<StoppedJob> by_job(const std::vector<StoppedPod>& pods, std::size_t first = 0);
// One change done in several ways: of each job what it loses where that is most.
std::vector<StoppedJob> in_any_way(const std::vector<std::vector<StoppedJob>>& ways);
// ", and that would push out team-a/low (4 GPUs)" or "(up to 4 GPUs)"; empty: nobody.
std::string push_out_text(const std::vector<StoppedJob>& stops);

}  // namespace gpuctl::whatif
