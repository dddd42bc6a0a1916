// The table of GPU vendors: the one that the program was built with, and the one in use.

#include <array>
#include <set>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/word_list.hpp"

namespace gpuctl {
namespace {

// The first row is the default vendor. config/vendors.yaml shows the table and is compared with it.
constexpr auto kVendors = std::to_array<GpuVendor>({
    {.alias = "nvidia",
     .resource = "nvidia.com/gpu",
     .other_aliases = "gpu cuda",
     .model_label = "nvidia.com/gpu.product",
     .visible_devices_environment = "NVIDIA_VISIBLE_DEVICES",
     .shared_resource = "nvidia.com/gpu.shared",
     .no_devices = "none",
     .memory_resources = "aliyun.com/gpu-mem=1Gi nvidia.com/gpumem=1Mi",
     .memory_percent_resources = "nvidia.com/gpumem-percentage",
     .core_resources = "nvidia.com/gpucores",
     .device_environment = "CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES",
     .utilization_metric = "DCGM_FI_DEV_GPU_UTIL"},
    {.alias = "amd",
     .resource = "amd.com/gpu",
     .other_aliases = "rocm",
     .model_label = "amd.com/gpu.product-name",
     .model_prefixes = "MI1 MI2 MI3",
     .memory_resources = "amd.com/gpumem=1Mi",
     .core_resources = "amd.com/gpucores",
     .device_environment =
         "AMD_VISIBLE_DEVICES GPU_DEVICE_ORDINAL HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES",
     .utilization_metric = "gpu_gfx_activity"},
    {.alias = "intel",
     .resource = "gpu.intel.com/i915",
     .other_resources = "gpu.intel.com/xe",
     .device_environment = "ONEAPI_DEVICE_SELECTOR ZE_AFFINITY_MASK"},
    {.alias = "gaudi",
     .resource = "habana.ai/gaudi",
     .other_aliases = "habana hpu",
     .visible_devices_environment = "HABANA_VISIBLE_DEVICES",
     .model_prefixes = "GAUDI HL-",
     .no_devices = "void",
     .device_environment = "HABANA_VISIBLE_DEVICES HABANA_VISIBLE_MODULES",
     .utilization_metric = "habanalabs_utilization"},
    {.alias = "ascend",
     .resource = "huawei.com/Ascend910",
     .other_aliases = "npu huawei",
     .other_resources = "huawei.com/Ascend310P huawei.com/Ascend310 huawei.com/ascend-310",
     .visible_devices_environment = "ASCEND_VISIBLE_DEVICES",
     .model_prefixes = "ASCEND",
     .no_devices = "void",
     .memory_resources = "huawei.com/*-memory=1Mi",
     .core_resources = "huawei.com/*-core",
     .share_count_resources = "huawei.com/Ascend910B*",
     .device_environment = "ASCEND_RT_VISIBLE_DEVICES ASCEND_VISIBLE_DEVICES",
     .utilization_metric = "npu_chip_info_utilization"},
    {.alias = "hygon",
     .resource = "hygon.com/dcu",
     .other_aliases = "dcu",
     .other_resources = "dcu.com/gpu",
     .model_prefixes = "DCU-",
     .memory_resources = "hygon.com/dcumem=1Mi hygon.com/hcumem=1Mi",
     .core_resources = "hygon.com/dcucores hygon.com/hcucores",
     .share_count_resources = "hygon.com/dcunum hygon.com/hcunum",
     .device_environment = "HIP_VISIBLE_DEVICES"},
    {.alias = "cambricon",
     .resource = "cambricon.com/mlu",
     .other_aliases = "mlu",
     .other_resources = "cambricon.com/mlu290 cambricon.com/mlu370",
     .shared_resource = "cambricon.com/vmlu",
     .model_prefixes = "MLU",
     .memory_resources = "cambricon.com/mlu.smlu.vmemory=1Mi",
     .core_resources = "cambricon.com/mlu.smlu.vcore",
     .device_environment = "CAMBRICON_VISIBLE_DEVICES MLU_VISIBLE_DEVICES",
     .utilization_metric = "mlu_utilization"},
    {.alias = "iluvatar",
     .resource = "iluvatar.com/gpu",
     .other_resources = "iluvatar.ai/gpu",
     .model_prefixes = "BI-V MR-V",
     .memory_resources = "iluvatar.ai/*.vMem=1Mi",
     .core_resources = "iluvatar.ai/*.vCore",
     .share_count_resources = "iluvatar.ai/*-vgpu",
     .device_environment = "ILUVATAR_VISIBLE_DEVICES"},
    {.alias = "metax",
     .resource = "metax-tech.com/gpu",
     .other_aliases = "metax-tech",
     .shared_resource = "metax-tech.com/sgpu",
     .model_prefixes = "MXC",
     .memory_resources = "metax-tech.com/vmemory=1Gi",
     .core_resources = "metax-tech.com/vcore",
     .device_environment = "MACA_VISIBLE_DEVICES METAX_VISIBLE_DEVICES"},
    {.alias = "mthreads",
     .resource = "mthreads.com/gpu",
     .other_aliases = "musa",
     .shared_resource = "mthreads.com/vgpu",
     .model_prefixes = "MTT-",
     .memory_resources = "mthreads.com/sgpu-memory=512Mi",
     .core_resources = "mthreads.com/sgpu-core",
     .device_environment = "MTHREADS_VISIBLE_DEVICES MUSA_VISIBLE_DEVICES"},
    {.alias = "enflame",
     .resource = "enflame.com/gcu",
     .other_aliases = "gcu",
     .shared_resource = "enflame.com/drs-gcu",
     .device_environment = "ENFLAME_VISIBLE_DEVICES TOPS_VISIBLE_DEVICES"},
    {.alias = "kunlunxin",
     .resource = "kunlunxin.com/xpu",
     .other_aliases = "xpu kunlun",
     .shared_resource = "kunlunxin.com/vxpu",
     .model_prefixes = "KUNLUN",
     .memory_resources = "kunlunxin.com/vxpu-memory=1Mi",
     .device_environment = "CXPU_VISIBLE_DEVICES XPU_VISIBLE_DEVICES"},
    {.alias = "biren",
     .resource = "birentech.com/gpu",
     .other_aliases = "birentech",
     .model_prefixes = "BR10",
     .device_environment = "BIREN_VISIBLE_DEVICES"},
    {.alias = "tpu",
     .resource = "google.com/tpu",
     .other_aliases = "google",
     .model_prefixes = "TPU-",
     .device_environment = "TPU_VISIBLE_CHIPS TPU_VISIBLE_DEVICES"},
    {.alias = "neuron",
     .resource = "aws.amazon.com/neuron",
     .other_aliases = "aws",
     .shared_resource = "aws.amazon.com/neuroncore",
     .model_prefixes = "TRN INF1 INF2",
     .device_environment = "AWS_NEURON_VISIBLE_DEVICES NEURON_RT_VISIBLE_CORES",
     .utilization_metric = "neuroncore_utilization_ratio"},
});

GpuVendorTable& table() {
    static GpuVendorTable in_use = built_in_gpu_vendors();
    return in_use;
}

}  // namespace

const GpuVendorTable& built_in_gpu_vendors() {
    static const GpuVendorTable built_in{{kVendors.begin(), kVendors.end()}, "LD_AUDIT LD_PRELOAD"};
    return built_in;
}

const GpuVendorTable& gpu_vendor_table() { return table(); }

void use_gpu_vendors(GpuVendorTable other) { table() = std::move(other); }

std::span<const GpuVendor> gpu_vendors() { return table().vendors; }

PlatformVariable platform_variable(std::string_view name) {
    const auto same = [&](std::string_view word) { return word == name; };
    if (any_word(table().loader_environment, same)) return PlatformVariable::loader;
    for (const GpuVendor& vendor : gpu_vendors()) {
        if (any_word(vendor.device_environment, same) || same(vendor.visible_devices_environment)) {
            return PlatformVariable::devices;
        }
    }
    return PlatformVariable::none;
}

namespace {

// "nvidia.com/gpumem=1Mi"
std::string_view name_of(std::string_view word) { return word.substr(0, word.find('=')); }

bool is_resource_name(std::string_view name) {
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) return false;
    const auto is_allowed = [](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
               c == '/' || c == '*';
    };
    return std::all_of(name.begin(), name.end(), is_allowed) &&
           name.find('/', slash + 1) == std::string_view::npos;
}

// Names that two rows may not share.
class Claims {
public:
    explicit Claims(std::string_view what) : what_(what) {}

    // The problem with the words of one row, or "".
    std::string claim(std::string_view words, std::string_view vendor) {
        std::string problem;
        any_word(words, [&](std::string_view word) {
            if (names_.insert(lower_case(std::string{name_of(word)})).second) return false;
            problem = "vendor " + std::string{vendor} + ": the " + what_ + " " +
                      std::string{name_of(word)} + " is given twice in the table";
            return true;
        });
        return problem;
    }

private:
    std::string what_;
    std::set<std::string> names_;
};

std::string problem_with_resources(const GpuVendor& row) {
    std::string problem;
    for (const std::string_view list :
         {row.resource, row.other_resources, row.shared_resource, row.memory_resources,
          row.memory_percent_resources, row.core_resources, row.share_count_resources}) {
        any_word(list, [&](std::string_view name) {
            if (is_resource_name(name_of(name))) return false;
            problem = "vendor " + std::string{row.alias} + ": \"" + std::string{name_of(name)} +
                      "\" is not a resource name such as nvidia.com/gpu";
            return true;
        });
    }
    return problem;
}

std::string problem_with_row(const GpuVendor& row) {
    const std::string vendor = "vendor " + std::string{row.alias} + ": ";
    if (row.alias.empty()) return "a vendor has no name";
    if (row.resource.empty()) return vendor + "resource is missing: the name of a whole device";
    if (std::string problem = problem_with_resources(row); !problem.empty()) return problem;
    if (!row.visible_devices_environment.empty() && row.no_devices.empty()) {
        return vendor + "noDevices is missing: the value of " +
               std::string{row.visible_devices_environment} + " that hides all devices";
    }
    std::string problem;
    any_word(row.memory_resources, [&](std::string_view word) {
        if (memory_unit_of(word)) return false;
        problem = vendor + "the amount of memory that one of " + std::string{name_of(word)} +
                  " is must be a quantity such as 1Mi";
        return true;
    });
    return problem;
}

}  // namespace

std::string problem_with(const GpuVendorTable& table) {
    if (table.vendors.empty()) return "the table has no vendors; at least one is needed";
    Claims aliases{"name"};
    Claims resources{"resource"};
    for (const GpuVendor& row : table.vendors) {
        std::string problem = problem_with_row(row);
        for (const std::string_view words : {row.alias, row.other_aliases}) {
            if (problem.empty()) problem = aliases.claim(words, row.alias);
        }
        for (const std::string_view words :
             {row.resource, row.other_resources, row.shared_resource, row.memory_resources,
              row.memory_percent_resources, row.core_resources, row.share_count_resources}) {
            if (problem.empty()) problem = resources.claim(words, row.alias);
        }
        if (!problem.empty()) return problem;
    }
    return "";
}

}  // namespace gpuctl
