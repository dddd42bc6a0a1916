#include "scheduler/model/gpu_vendor.hpp"

#include <algorithm>
#include <array>

namespace gpuctl {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

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

// The first row is the vendor meant when nobody names one.
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
        const auto same = [&](std::string_view word) { return equal_ignoring_case(word, alias); };
        if (same(vendor.alias) || any_word(vendor.other_aliases, same)) return &vendor;
    }
    return nullptr;
}

const GpuVendor& vendor_of_model(std::string_view model) {
    for (const GpuVendor& vendor : kVendors) {
        const auto starts_model = [&](std::string_view prefix) {
            return model.size() >= prefix.size() &&
                   equal_ignoring_case(prefix, model.substr(0, prefix.size()));
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

std::string_view mig_name(std::string_view resource) {
    return resource.substr(kMigNamespace.size());
}

GpuMilli in_whole_gpus(std::string_view resource, GpuMilli amount) {
    if (!is_mig_resource(resource)) return amount;
    // "1g.10gb", "1c.3g.40gb" (one compute instance of a 3g slice: the slice is gone all the
    // same), "1g.10gb.me". Four of A30's are a GPU, sevenths of it are taken for them all.
    constexpr std::int64_t kSlices = 7;
    std::string_view profile = resource.substr(kMigPrefix.size());
    const std::size_t compute = profile.find("c.");
    if (compute != std::string_view::npos && compute < profile.find('g')) {
        profile.remove_prefix(compute + 2);
    }
    const bool is_read =
        profile.size() > 1 && profile[0] >= '1' && profile[0] <= '7' && profile[1] == 'g';
    const std::int64_t slices = is_read ? profile[0] - '0' : kSlices;
    return GpuMilli{(amount.value() * slices + kSlices - 1) / kSlices};
}

bool is_gpu_resource(std::string_view resource) {
    return is_mig_resource(resource) ||
           std::any_of(kVendors.begin(), kVendors.end(), [&](const GpuVendor& vendor) {
               return vendor.resource == resource ||
                      any_word(vendor.other_resources,
                               [&](std::string_view other) { return other == resource; });
           });
}

}  // namespace gpuctl
