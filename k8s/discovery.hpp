#pragma once
// Which PodGroup dialects this API server has (G2, C20): never assumed. The group list says which
// groups and versions exist; each of ours that does is asked for its resources. At most one
// question per dialect, and on most clusters none.

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

// One dialect per group: the newest version that is really served.
aio::Task<Result<std::vector<GangDialect>>> discover_gang_dialects(Client& client,
                                                                   aio::Deadline deadline);

}  // namespace gpuctl::k8s
