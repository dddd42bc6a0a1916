#pragma once
// GPU vendors as a table (contract.md 5.2): alias, resource name, labels that carry the model.
// Counting, quotas, describe and metrics go through it, never through a literal nvidia.com/gpu.

#include <span>
#include <string_view>

#include "scheduler/base/units.hpp"

namespace gpuctl {

struct GpuVendor {
    std::string_view alias;            // canonical, lower case: "nvidia"
    std::string_view resource;         // whole device: "nvidia.com/gpu"
    std::string_view other_aliases;    // space-separated: "gpu"
    std::string_view other_resources;  // further names that count as whole devices of this vendor
    std::string_view model_label;      // node label with the model, "" when none is usual
    std::string_view visible_devices_environment;  // set to "none"/"void" to hide devices
    std::string_view shared_resource;              // one share of a device, "" when there is none
    std::string_view model_prefixes;  // space-separated: models that name this vendor, upper case
};

std::span<const GpuVendor> gpu_vendors();
// By canonical or other alias, in any case; null when unknown.
const GpuVendor* find_gpu_vendor(std::string_view alias);
// Whose model that is ("Ascend910" is Huawei's); the first vendor of the table when unknown.
const GpuVendor& vendor_of_model(std::string_view model);
// True for whole devices and MIG slices (nvidia.com/mig-*) of every vendor in the table.
bool is_gpu_resource(std::string_view resource);
// One slice of a GPU that its administrator cut: nvidia.com/mig-1g.10gb.
bool is_mig_resource(std::string_view resource);
// "mig-1g.10gb": what people call such a slice.
std::string_view mig_name(std::string_view resource);
// What so much of a resource is of whole GPUs: of MIG slices their sevenths, rounded up, since a
// quota must not be crossed by rounding; of anything else the amount itself.
GpuMilli in_whole_gpus(std::string_view resource, GpuMilli amount);

}  // namespace gpuctl
