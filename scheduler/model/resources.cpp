#include "scheduler/model/resources.hpp"

namespace gpuctl {

GpuMilli gpus_total(const Resources& resources) {
    GpuMilli total;
    for (const GpuAmount& gpu : resources.gpus) total += gpu.amount;
    return total;
}

}  // namespace gpuctl
