#pragma once
// What a list may be narrowed by. A pool or a status that does not exist selects nothing, and an
// empty list would hide the slip of the pen.

#include <optional>
#include <string>

#include "daemon/api/routes.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// `?pool=`; empty when not given. PoolNotFound names the pools there are.
Result<std::string> pool_of(const Listing& listing, const Call& call);

// BadRequest with the known ones for a `?status=` that neither a job nor a pod can have.
std::optional<Error> bad_job_status(const Listing& listing, std::string_view status);
std::optional<Error> bad_node_status(std::string_view status);

}  // namespace gpuctl::api
