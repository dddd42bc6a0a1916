#pragma once
// The node port of a submitted job's Service, read when a user looks at the job: it is allocated by
// the API server, and no decision depends on it.

#include <cstdint>
#include <string_view>

#include "k8s/client/client.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

// 0: the Service does not exist or has no node port.
aio::Task<Result<std::int32_t>> read_node_port(Client& client, ObjectKey job,
                                               aio::Deadline deadline);

// Of a Service in JSON.
std::int32_t node_port_in(std::string_view service);

}  // namespace gpuctl::k8s
