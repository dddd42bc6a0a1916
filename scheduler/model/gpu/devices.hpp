#pragma once
// Fractions of one physical GPU (docs/adr/0015). A request of less than one GPU is placed on one
// device together with other fractions; a whole GPU is not shared. Pods on a node with the same
// device number share a device. The node decides which physical card has this number.

#include <cstdint>

#include "scheduler/base/units.hpp"

namespace gpuctl {

inline constexpr std::int32_t kNoDevice = -1;

constexpr bool is_part_of_gpu(GpuMilli amount) {
    return amount > GpuMilli{0} && amount.value() < kGpuMilliPerGpu;
}

}  // namespace gpuctl
