#pragma once
// GPU vendors as a table: alias, resource name, labels that carry the model. Counting, quotas,
// describe and metrics use the table, never a literal nvidia.com/gpu. The table is data
// (docs/adr/0045-vendors-as-data.md): config/vendors.yaml shows it, and an operator may replace it.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/resources.hpp"

namespace gpuctl {

// Members that are lists are words, separated by spaces. "": there is none.
struct GpuVendor {
    std::string_view alias = {};          // canonical, lower case: "nvidia"
    std::string_view resource = {};       // whole device: "nvidia.com/gpu"
    std::string_view other_aliases = {};  // "gpu cuda"
    std::string_view other_resources =
        {};                             // further names that count as whole devices of this vendor
    std::string_view model_label = {};  // node label with the model
    std::string_view visible_devices_environment = {};  // set to `no_devices` to hide devices
    std::string_view shared_resource = {};              // one share of a device
    std::string_view model_prefixes = {};               // of models of this vendor, in any case
    std::string_view no_devices = {};                   // "none", "void"
    // What a sharing plugin calls an amount of a device's memory, a percentage of its memory, a
    // percentage of its compute, and a number of devices to share. '*' is a model.
    std::string_view memory_resources = {};  // with what one of it is: "nvidia.com/gpumem=1Mi"
    std::string_view memory_percent_resources = {};
    std::string_view core_resources = {};
    std::string_view share_count_resources = {};
    std::string_view device_environment = {};  // variables that choose devices: the platform's
    std::string_view utilization_metric = {};  // of the vendor's exporter, in percent of a device
    friend auto operator<=>(const GpuVendor&, const GpuVendor&) = default;
};

// What the whole table holds. Its maker owns the texts of the rows.
struct GpuVendorTable {
    std::vector<GpuVendor> vendors;       // the first row is the default vendor
    std::string_view loader_environment;  // variables that load code into a process
};

// The table that the program was built with, and the one in use.
const GpuVendorTable& built_in_gpu_vendors();
const GpuVendorTable& gpu_vendor_table();
// Replaces the table for the whole process; the texts must live as long. Only before the first
// thread starts, and after problem_with() found nothing.
void use_gpu_vendors(GpuVendorTable table);
// The first problem of a table: no rows, a name of two vendors, ...; "" if it can be used.
std::string problem_with(const GpuVendorTable& table);

// Why a job may not set this variable: it chooses devices, or loads code into every process.
enum class PlatformVariable : std::uint8_t { none, devices, loader };
PlatformVariable platform_variable(std::string_view name);

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
// What a resource of a sharing plugin states about a part of a device (aliyun.com/gpu-mem,
// nvidia.com/gpumem): null if it is none of these.
enum class GpuPart : std::uint8_t { memory, memory_percent, cores, share_count };
struct GpuPartResource {
    const GpuVendor* vendor = nullptr;
    GpuPart part = GpuPart::memory;
    Bytes unit;  // of memory
};
// The unit of a word of memory_resources; nothing if it states none.
std::optional<Bytes> memory_unit_of(std::string_view word);
std::optional<GpuPartResource> find_gpu_part(std::string_view resource);
// The share of a whole GPU as far as the resource name states it: for a slice its compute slices.
GpuShare share_of(std::string_view resource);

}  // namespace gpuctl
