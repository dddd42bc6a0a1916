#pragma once
// Filters of a list. An unknown pool or status is an error: an empty list would hide a typing
// mistake.

#include <optional>
#include <string>

#include "daemon/api/http/routes.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// PoolNotFound, which lists the known pools.
Error unknown_pool(const ClusterState& state, std::string name);

// `?pool=`; empty when not given. An unknown pool is an error.
Result<std::string> pool_of(const Listing& listing, const Call& call);

// BadRequest with the known statuses for a `?status=` that neither a job nor a pod can have.
std::optional<Error> bad_job_status(const Listing& listing, std::string_view status);
std::optional<Error> bad_node_status(std::string_view status);

}  // namespace gpuctl::api
