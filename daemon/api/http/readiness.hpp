#pragma once
// Whether this daemon is ready, line by line, for /readyz and the gpuctld_ready metric.

#include <vector>

#include "daemon/api/http/services.hpp"

namespace gpuctl::api {

std::vector<ports::HealthLine> readiness(const Services& services);
// Why a change is refused, with the cause: "another process leads" would not explain an unreachable
// cluster.
Error with_cause(const Services& services, Error refused);
bool all_ok(const std::vector<ports::HealthLine>& lines);

}  // namespace gpuctl::api
