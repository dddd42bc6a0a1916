#pragma once
// PersistentVolumeClaims, PersistentVolumes and DeviceClasses: only the fields that restrict where
// a pod may run.

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

struct ClaimReading {
    ObjectKey key;
    std::string volume;           // the bound volume; empty: none yet
    bool is_for_one_pod = false;  // ReadWriteOncePod
    bool is_terminating = false;
};
Result<ClaimReading> read_claim(std::string_view json);

// A node must match all of these; each is an OR of terms.
using Reach = std::vector<std::vector<SelectorTerm>>;

struct VolumeReading {
    std::string name;
    ObjectKey claim;  // the claim that it is reserved for
    Reach reach;      // empty: every node
};
Result<VolumeReading> read_volume_object(std::string_view json);

struct DeviceClassReading {
    std::string name;
    std::string resource;  // spec.extendedResourceName
};
Result<DeviceClassReading> read_device_class(std::string_view json);

}  // namespace gpuctl::k8s
