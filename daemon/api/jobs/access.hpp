#pragma once
// How users reach a job that serves: at its pod, at its Service, and at a node.

#include "daemon/api/http/services.hpp"
#include "daemon/api/jobs/shapes.hpp"

namespace gpuctl::api {

// Whether the job has a Service: inference, notebook and compute jobs that were submitted here.
bool has_service(const JobView& job);

// The port of the nodes, from the cluster; 0 when there is none or the cluster does not answer,
// which is no error of the reader.
aio::Task<std::int32_t> node_port_of(Services& services, ObjectKey job);

// {podIpAccess, serviceAccess, nodePortAccess}; members are null until a pod runs, and where there
// is no node port. Null for a job without a Service.
Json access_json(const ClusterState& state, const JobView& job, std::int32_t node_port);

}  // namespace gpuctl::api
