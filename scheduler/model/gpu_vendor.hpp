#pragma once
// GPU vendors as a table (contract.md 5.2): alias, resource name, labels that carry the model.
// Counting, quotas, describe and metrics go through it, never through a literal nvidia.com/gpu.

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
// True for whole devices of every vendor in the table, and for what NVIDIA's device plugin counts
// of less: MIG slices (nvidia.com/mig-*) and replicas of GPUs.
bool is_gpu_resource(std::string_view resource);
// Whole devices of a vendor; what a node calls so may be slices nevertheless (GpuAmount::share).
bool is_whole_gpu_resource(std::string_view resource);
// One slice of a GPU that its administrator cut: nvidia.com/mig-1g.10gb.
bool is_mig_resource(std::string_view resource);
// Of a profile: "1g.10gb+me" is nvidia.com/mig-1g.10gb.me.
std::string mig_resource(std::string_view profile);
// "mig-1g.10gb": what people call such a slice.
std::string_view mig_name(std::string_view resource);
// A GPU that several containers use at once, by time slicing or MPS, counted by its replicas where
// the device plugin gives them a name of their own: nvidia.com/gpu.shared. How many make a GPU is
// told by a label of the node and not by the name.
bool is_shared_resource(std::string_view resource);
// Where all GPUs of a node are cut alike (strategy single), its device plugin calls each slice a
// GPU, and discovery puts "-MIG-1g.5gb" behind their model. Says so of the GPUs of that model.
void name_slices(Resources& resources, std::string_view gpu_model);
// It asks for GPUs, or a part of one, and not for slices by whatever name.
bool wants_whole_gpus(const Resources& request);
// Some of what a node calls GPUs are slices.
bool calls_slices_gpus(const Resources& offered);
// What one of a resource is of a whole GPU as far as its name tells: a slice its compute slices.
GpuShare share_of(std::string_view resource);

}  // namespace gpuctl
