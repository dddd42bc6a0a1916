#pragma once
// GPU vendors as a table: alias, resource name, labels that carry the model. Counting, quotas,
// describe and metrics use the table, never a literal nvidia.com/gpu.

#include <span>
#include <string>
#include <string_view>

#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct GpuVendor {
    std::string_view alias;            // canonical, lower case: "nvidia"
    std::string_view resource;         // whole device: "nvidia.com/gpu"
    std::string_view other_aliases;    // space-separated: "gpu"
    std::string_view other_resources;  // further names that count as whole devices of this vendor
    std::string_view model_label;      // node label with the model, "" if there is none
    std::string_view visible_devices_environment;  // set to "none"/"void" to hide devices
    std::string_view shared_resource;              // one share of a device, "" if there is none
    // space-separated prefixes of models of this vendor, upper case
    std::string_view model_prefixes;
};

std::span<const GpuVendor> gpu_vendors();
// Finds the vendor by its canonical or another alias, in any case; null: unknown.
const GpuVendor* find_gpu_vendor(std::string_view alias);
// The vendor of the model ("Ascend910": Huawei). For an unknown model the first vendor of the
// table.
const GpuVendor& vendor_of_model(std::string_view model);
// True for whole devices of every vendor in the table, and for the partial devices that NVIDIA's
// device plugin counts: MIG slices (nvidia.com/mig-*) and replicas of GPUs.
bool is_gpu_resource(std::string_view resource);
// Whole devices of a vendor by name. A node may still use the name for slices (GpuAmount::share).
bool is_whole_gpu_resource(std::string_view resource);
// True for a MIG slice of a GPU: nvidia.com/mig-1g.10gb.
bool is_mig_resource(std::string_view resource);
// The resource of a profile: "1g.10gb+me" is nvidia.com/mig-1g.10gb.me.
std::string mig_resource(std::string_view profile);
// The short name of the slices of a resource: "mig-1g.10gb".
std::string_view mig_name(std::string_view resource);
// True for replicas of a GPU that several containers share by time slicing or MPS, if the device
// plugin gives the replicas a name of their own: nvidia.com/gpu.shared. A label of the node states
// how many replicas make a GPU.
bool is_shared_resource(std::string_view resource);
// If all GPUs of a node are partitioned alike (MIG strategy "single"), its device plugin calls each
// slice a GPU, and GPU feature discovery appends "-MIG-1g.5gb" to the model. This function marks
// the GPUs of such a model as slices.
void name_slices(Resources& resources, std::string_view gpu_model);
// True if the request has GPUs or a fraction of a GPU, and no slices of any name.
bool wants_whole_gpus(const Resources& request);
// True if some GPUs that the node offers are slices.
bool calls_slices_gpus(const Resources& offered);
// The share of a whole GPU as far as the resource name states it: for a slice its compute slices.
GpuShare share_of(std::string_view resource);

}  // namespace gpuctl
