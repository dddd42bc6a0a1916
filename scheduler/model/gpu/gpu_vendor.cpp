#include "scheduler/model/gpu/gpu_vendor.hpp"

#include <algorithm>
#include <array>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu/mig.hpp"

namespace gpuctl {
namespace {

// Calls `visit` with each word until it returns true.
template <typename Visit>
bool any_word(std::string_view words, Visit visit) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (visit(words.substr(0, end))) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

// The first row is the default vendor.
constexpr auto kVendors = std::to_array<GpuVendor>({
    {"nvidia", "nvidia.com/gpu", "gpu cuda", "", "nvidia.com/gpu.product", "NVIDIA_VISIBLE_DEVICES",
     "nvidia.com/gpu.shared", ""},
    {"amd", "amd.com/gpu", "rocm", "", "amd.com/gpu.product-name", "", "", "MI1 MI2 MI3"},
    {"intel", "gpu.intel.com/i915", "", "gpu.intel.com/xe", "", "", "", ""},
    {"gaudi", "habana.ai/gaudi", "habana hpu", "", "", "HABANA_VISIBLE_DEVICES", "", "GAUDI HL-"},
    {"ascend", "huawei.com/Ascend910", "npu huawei",
     "huawei.com/Ascend310P huawei.com/Ascend310 huawei.com/ascend-310", "",
     "ASCEND_VISIBLE_DEVICES", "", "ASCEND"},
    {"hygon", "hygon.com/dcu", "dcu", "dcu.com/gpu", "", "", "", "DCU-"},
    {"cambricon", "cambricon.com/mlu", "mlu", "cambricon.com/mlu290 cambricon.com/mlu370", "", "",
     "cambricon.com/vmlu", "MLU"},
    {"iluvatar", "iluvatar.com/gpu", "", "iluvatar.ai/gpu", "", "", "", "BI-V MR-V"},
    {"metax", "metax-tech.com/gpu", "metax-tech", "", "", "", "metax-tech.com/sgpu", "MXC"},
    {"mthreads", "mthreads.com/gpu", "musa", "", "", "", "mthreads.com/vgpu", "MTT-"},
    {"enflame", "enflame.com/gcu", "gcu", "", "", "", "enflame.com/drs-gcu", ""},
    {"kunlunxin", "kunlunxin.com/xpu", "xpu", "", "", "", "kunlunxin.com/vxpu", "KUNLUN"},
    {"biren", "birentech.com/gpu", "birentech", "", "", "", "", "BR10"},
    {"tpu", "google.com/tpu", "google", "", "", "", "", "TPU-"},
    {"neuron", "aws.amazon.com/neuron", "aws", "", "", "", "aws.amazon.com/neuroncore",
     "TRN INF1 INF2"},
});

}  // namespace

std::span<const GpuVendor> gpu_vendors() { return kVendors; }

const GpuVendor* find_gpu_vendor(std::string_view alias) {
    for (const GpuVendor& vendor : kVendors) {
        const auto same = [&](std::string_view word) { return same_without_case(word, alias); };
        if (same(vendor.alias) || any_word(vendor.other_aliases, same)) return &vendor;
    }
    return nullptr;
}

const GpuVendor& vendor_of_model(std::string_view model) {
    for (const GpuVendor& vendor : kVendors) {
        const auto starts_model = [&](std::string_view prefix) {
            return model.size() >= prefix.size() &&
                   same_without_case(prefix, model.substr(0, prefix.size()));
        };
        if (any_word(vendor.model_prefixes, starts_model)) return vendor;
    }
    return kVendors.front();
}

constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kMigNamespace = "nvidia.com/";

bool is_mig_resource(std::string_view resource) {
    return resource.size() > kMigPrefix.size() && resource.starts_with(kMigPrefix);
}

std::string mig_resource(std::string_view profile) {
    std::string name{kMigPrefix};
    for (const char c : profile)
        name += c == '+' ? '.' : lower_case(c);  // a resource name has no '+'
    return name;
}

std::string_view mig_name(std::string_view resource) {
    return resource.substr(kMigNamespace.size());
}

constexpr std::string_view kSharedSuffix = ".shared";

bool is_shared_resource(std::string_view resource) {
    return resource == kVendors.front().shared_resource;
}

// For example "1g.10gb.shared": replicas of a slice, whose number a label of the node states.
GpuShare share_of(std::string_view resource) {
    if (!is_mig_resource(resource)) return {};
    std::string_view profile = resource.substr(kMigPrefix.size());
    if (profile.ends_with(kSharedSuffix)) profile.remove_suffix(kSharedSuffix.size());
    return mig_share(profile);
}

bool is_whole_gpu_resource(std::string_view resource) {
    return std::any_of(kVendors.begin(), kVendors.end(), [&](const GpuVendor& vendor) {
        return vendor.resource == resource ||
               any_word(vendor.other_resources,
                        [&](std::string_view other) { return other == resource; });
    });
}

void name_slices(Resources& resources, std::string_view gpu_model) {
    const std::string_view profile = mig_profile_in_model(gpu_model);
    if (profile.empty()) return;
    for (GpuAmount& gpus : resources.gpus) {
        if (gpus.resource == kVendors.front().resource) gpus.share = mig_share(profile);
    }
}

bool wants_whole_gpus(const Resources& request) {
    return std::any_of(request.gpus.begin(), request.gpus.end(), [](const GpuAmount& gpus) {
        return is_whole_gpu_resource(gpus.resource) && gpus.share == GpuShare{};
    });
}

bool calls_slices_gpus(const Resources& offered) {
    return std::any_of(offered.gpus.begin(), offered.gpus.end(), [](const GpuAmount& gpus) {
        return is_whole_gpu_resource(gpus.resource) && gpus.share != GpuShare{};
    });
}

bool is_gpu_resource(std::string_view resource) {
    return is_mig_resource(resource) || is_shared_resource(resource) ||
           is_whole_gpu_resource(resource);
}

}  // namespace gpuctl
