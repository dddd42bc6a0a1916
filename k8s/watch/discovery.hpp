#pragma once
// Finds which optional kinds this API server has: PodGroup dialects, JobSets, DeviceClasses, and
// our own of config/crds.yaml; never assumed. The group list has the groups and versions that
// exist; each known one is asked for its resources. At most one request each, on most clusters one
// in all.

#include <string>
#include <string_view>
#include <vector>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/client/client.hpp"
#include "k8s/convert/convert_group.hpp"

namespace gpuctl::k8s {

// The dialects whose group and version an APIGroupList names.
std::vector<GangDialect> dialects_offered(std::string_view api_group_list);
// Whether an APIResourceList has this resource, with list and watch.
bool serves(std::string_view api_resource_list, std::string_view resource);

struct OptionalKinds {
    std::vector<GangDialect> gangs;  // one per group: the newest version that is served
    std::string device_classes;      // the path; empty: not served
    bool policy = false;             // ComputePools and Queues
};
aio::Task<Result<OptionalKinds>> discover_optional_kinds(Client& client, aio::Deadline deadline);

}  // namespace gpuctl::k8s
