#pragma once
// PersistentVolumeClaims, PersistentVolumes and DeviceClasses: of each only what decides where a
// pod may go.

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/placement.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

struct ClaimReading {
    ObjectKey key;
    std::string volume;           // bound to it; empty: to none yet
    bool is_for_one_pod = false;  // ReadWriteOncePod
    bool is_terminating = false;
};
Result<ClaimReading> read_claim(std::string_view json);

// All of these must match a node; each is an OR of terms.
using Reach = std::vector<std::vector<SelectorTerm>>;

struct VolumeReading {
    std::string name;
    ObjectKey claim;  // that it is meant for
    Reach reach;      // empty: every node
};
Result<VolumeReading> read_volume_object(std::string_view json);

struct DeviceClassReading {
    std::string name;
    std::string resource;  // spec.extendedResourceName
};
Result<DeviceClassReading> read_device_class(std::string_view json);

}  // namespace gpuctl::k8s
