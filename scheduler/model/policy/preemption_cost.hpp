#pragma once
// The cost of a preemption: the work that must be repeated, in GPU-milliseconds.

#include <algorithm>
#include <cstdint>

#include "scheduler/model/pod.hpp"

namespace gpuctl {

// Larger amounts are limited to this, so that sums stay within 63 bits: 10^6 GPUs, 99 days.
inline constexpr std::int64_t kPricedGpusMaximum = 1'000'000LL * kGpuMilliPerGpu;
inline constexpr std::int64_t kPricedMsMaximum = std::int64_t{1} << 33;

// The work since the last stated checkpoint, or since the start, and the restart cost. A pod
// without GPUs counts as a thousandth of a GPU, so that its work has a price, too. `Pod`: PodFacts,
// or StoppablePod.
// StoppablePod.
template <typename Pod>
std::int64_t lost_gpu_ms(const Pod& pod, GpuMilli gpus, Instant now) {
    std::int64_t ms = 0;
    if (pod.started_at.happened() && now > pod.started_at) ms = (now - pod.started_at).ms();
    if (pod.checkpoint_interval > Duration{0}) ms %= pod.checkpoint_interval.ms();
    if (pod.started_at.happened()) ms += pod.restart_cost.ms();
    ms = std::clamp<std::int64_t>(ms, 0, kPricedMsMaximum);
    ms *= std::clamp<std::int64_t>(gpus.value(), 1, kPricedGpusMaximum);
    return ms / kGpuMilliPerGpu;
}

}  // namespace gpuctl
