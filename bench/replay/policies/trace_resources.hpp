#pragma once
// Resources of nodes and ranks in a replay: traces have GPUs of one resource.

#include "scheduler/model/resources.hpp"

namespace gpuctl::replay {

inline constexpr const char* kGpu = "nvidia.com/gpu";

// These traces have no CPU and memory: no node is ever short of them.
inline Resources gpus_only(std::int64_t gpus, std::int64_t pods) {
    Resources out;
    out.pods = pods;
    out.gpus = {{kGpu, whole_gpus(gpus)}};
    return out;
}

}  // namespace gpuctl::replay
