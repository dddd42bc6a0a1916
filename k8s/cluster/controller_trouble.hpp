#pragma once
// Why the controller of an object makes no pods: a ResourceQuota or an admission policy refuses
// them. A Deployment reports it in its status (convert_workload); the controllers of Jobs and
// StatefulSets report it in events only, with the reason FailedCreate.
//
// Read on request, for one job without pods, not watched: the API server has no cache of events, so
// a watch would make it read every event of the cluster again.

#include <string>
#include <string_view>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "k8s/client/client.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

// The newest such event of an EventList (core/v1), with its count and time; empty: there is none.
std::string read_trouble(std::string_view event_list);

// `uid`: of the Job or StatefulSet of that name; empty: it does not exist. Errors: the API
// server's.
aio::Task<Result<std::string>> read_controller_trouble(Client& client, ObjectKey object,
                                                       std::string uid, aio::Deadline deadline);

}  // namespace gpuctl::k8s
