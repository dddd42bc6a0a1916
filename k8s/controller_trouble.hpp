#pragma once
// Why the controller of an object makes no pods: a ResourceQuota or an admission policy refuses
// them. A Deployment says so in its status (convert_workload); the controllers of Jobs and
// StatefulSets say it in events only, with the reason FailedCreate.
//
// Asked for when somebody looks at a job without pods, not watched: the API server has no cache of
// events, so that a watch of them would make it read every event of the cluster once more.

#include <string>
#include <string_view>

#include "daemon/aio/deadline.hpp"
#include "daemon/aio/task.hpp"
#include "k8s/client.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

// The newest such event of an EventList (core/v1), with its count and time; empty: it has none.
std::string read_trouble(std::string_view event_list);

// `uid`: of the Job or StatefulSet of that name; empty: there is none. Errors: the API server's.
aio::Task<Result<std::string>> ask_for_trouble(Client& client, ObjectKey object, std::string uid,
                                               aio::Deadline deadline);

}  // namespace gpuctl::k8s
