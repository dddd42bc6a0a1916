#pragma once
// Parts of one physical GPU (docs/adr/0015). A request of less than one GPU lies on one device
// together with others of its kind; a whole GPU shares with nobody. Devices are told apart by a
// number on their node, which says who shares with whom; which card that is, is the node's
// business.

#include <cstdint>

#include "scheduler/base/units.hpp"

namespace gpuctl {

inline constexpr std::int32_t kNoDevice = -1;

constexpr bool is_part_of_gpu(GpuMilli amount) {
    return amount > GpuMilli{0} && amount.value() < kGpuMilliPerGpu;
}

// What no node can give: one GPU and a half has no device to lie on.
constexpr bool is_broken_amount(GpuMilli amount) {
    return amount.value() > kGpuMilliPerGpu && amount.value() % kGpuMilliPerGpu != 0;
}

}  // namespace gpuctl
