#include "scheduler/model/resources.hpp"

#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {

GpuMilli in_whole_gpus(const GpuAmount& gpus) {
    const GpuShare named = share_of(gpus.resource);
    const std::int64_t parts = std::int64_t{named.parts} * gpus.share.parts;
    const std::int64_t of = std::int64_t{named.of} * gpus.share.of;
    // Computed in two steps, so that no intermediate value overflows: `parts` is never larger than
    // `of`.
    const std::int64_t whole = gpus.amount.value() / of * parts;
    return GpuMilli{whole + (gpus.amount.value() % of * parts + of - 1) / of};
}

GpuMilli gpus_total(const Resources& resources) {
    GpuMilli total;
    for (const GpuAmount& gpu : resources.gpus) total += in_whole_gpus(gpu);
    return total;
}

GpuShare share_offered(const Resources& offered, std::string_view resource) {
    for (const GpuAmount& gpu : offered.gpus) {
        if (gpu.resource == resource) return gpu.share;
    }
    return {};
}

}  // namespace gpuctl
