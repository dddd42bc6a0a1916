#include "scheduler/model/resources.hpp"

#include "scheduler/model/gpu_vendor.hpp"

namespace gpuctl {

GpuMilli gpus_total(const Resources& resources) {
    GpuMilli total;
    for (const GpuAmount& gpu : resources.gpus) total += in_whole_gpus(gpu.resource, gpu.amount);
    return total;
}

}  // namespace gpuctl
