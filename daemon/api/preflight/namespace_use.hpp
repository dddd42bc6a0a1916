#pragma once
// Whether jobs may be created or changed in a namespace (docs/adr/0048).

#include <string>

#include "aio/task.hpp"
#include "daemon/api/http/services.hpp"

namespace gpuctl::api {

// NamespaceNotFound, NamespaceNotManaged, Conflict (it is being deleted), or what the cluster's
// answer was. `doing`: "create job a/b".
aio::Task<Result<void>> check_namespace(Services& services, std::string doing, std::string name);

}  // namespace gpuctl::api
