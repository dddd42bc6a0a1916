#include "scheduler/model/amount_text.hpp"

#include <algorithm>

#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/policy/budget.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::amounts {
namespace {

bool counts_bytes(const std::string& resource) {
    return resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

// Resources of plugins that share devices; "" for all others.
std::string gpu_part_text(const std::string& resource, std::int64_t amount) {
    const auto found = find_gpu_part(resource);
    if (!found) return "";
    const std::string name = " (" + resource + ")";
    switch (found->part) {
        case GpuPart::memory:
            if (amount > INT64_MAX / std::max<std::int64_t>(found->unit.value(), 1)) return "";
            return format_bytes(Bytes{amount * found->unit.value()}) + " GPU memory" + name;
        case GpuPart::memory_percent:
            return std::to_string(amount) + " percent of a GPU's memory" + name;
        case GpuPart::cores:
            return std::to_string(amount) + " percent of a GPU's compute" + name;
        case GpuPart::share_count:
            return count(amount, "shared GPU", "shared GPUs") + name;
    }
    return "";
}

}  // namespace

std::string gpus(std::int64_t milli) { return format_gpus(GpuMilli{milli}); }

std::string gpus_noun(std::int64_t milli) {
    return gpus(milli) + (milli == kGpuMilliPerGpu ? " GPU" : " GPUs");
}

std::string gpus_noun(std::string_view resource, std::int64_t milli) {
    if (is_shared_resource(resource)) {
        return gpus(milli) + (milli == kGpuMilliPerGpu ? " share" : " shares") + " of a GPU";
    }
    if (!is_mig_resource(resource)) return gpus_noun(milli);
    return gpus(milli) + " " + std::string{mig_name(resource)} +
           (milli == kGpuMilliPerGpu ? " slice" : " slices");
}

std::string gpu_part(std::int64_t milli) {
    return std::to_string(milli) + "/" + std::to_string(kGpuMilliPerGpu);
}

std::string count(std::int64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string ranks_text(std::int64_t ranks) { return count(ranks, "rank", "ranks"); }

std::string amount_text(ResourceKind kind, const std::string& resource, std::int64_t amount) {
    switch (kind) {
        case ResourceKind::gpu:
            return gpus_noun(resource, amount);
        case ResourceKind::gpu_part:
            return gpu_part(amount) + " of a GPU";
        case ResourceKind::cpu:
            return format_cpu(CpuMilli{amount}) + " CPU";
        case ResourceKind::memory:
            return format_bytes(Bytes{amount}) + " memory";
        case ResourceKind::pod_slots:
            return count(amount, "pod slot", "pod slots");
        case ResourceKind::extended:
            if (std::string part = gpu_part_text(resource, amount); !part.empty()) return part;
            return counts_bytes(resource) ? format_bytes(Bytes{amount}) + " " + resource
                                          : std::to_string(amount) + " " + resource;
        case ResourceKind::host_port:
            return "host port " + resource;
    }
    return std::to_string(amount);
}

std::string limit_amount(fact::LimitUnit unit, std::int64_t amount) {
    switch (unit) {
        case fact::LimitUnit::gpus:
            return gpus(amount);
        case fact::LimitUnit::cpu:
            return format_cpu(CpuMilli{amount});
        case fact::LimitUnit::memory:
            return format_bytes(Bytes{amount});
        case fact::LimitUnit::jobs:
            return std::to_string(amount);
        case fact::LimitUnit::gpu_time:
            return exact_gpu_hours(GpuTime{amount});
    }
    return "";
}

std::string limit_amount_noun(fact::LimitUnit unit, std::int64_t amount) {
    switch (unit) {
        case fact::LimitUnit::gpus:
            return gpus_noun(amount);
        case fact::LimitUnit::cpu:
            return limit_amount(unit, amount) + " CPU";
        case fact::LimitUnit::memory:
            return limit_amount(unit, amount) + " memory";
        case fact::LimitUnit::jobs:
            return count(amount, "job", "jobs");
        case fact::LimitUnit::gpu_time:
            return limit_amount(unit, amount) + " GPU-hours";
    }
    return "";
}

}  // namespace gpuctl::amounts
