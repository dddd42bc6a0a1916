#pragma once
// Which of the kinds that not every API server has this one has (G2, C20): PodGroup dialects,
// JobSets, DeviceClasses; never assumed. The group list says which groups and versions exist; each
// that we know is asked for its resources. At most one question each, and on most clusters one.

#include <string>
#include <string_view>
#include <vector>

#include "daemon/aio/deadline.hpp"
#include "daemon/aio/task.hpp"
#include "k8s/client.hpp"
#include "k8s/convert_group.hpp"

namespace gpuctl::k8s {

// The dialects whose group and version an APIGroupList names.
std::vector<GangDialect> dialects_offered(std::string_view api_group_list);
// Does an APIResourceList hold this resource, with list and watch?
bool serves(std::string_view api_resource_list, std::string_view resource);

struct OptionalKinds {
    std::vector<GangDialect> gangs;  // one per group: the newest version that is really served
    std::string device_classes;      // the path; empty: there are none
};
aio::Task<Result<OptionalKinds>> discover_optional_kinds(Client& client, aio::Deadline deadline);

}  // namespace gpuctl::k8s
