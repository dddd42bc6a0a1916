#pragma once
// Whether this daemon does its work, line by line, for /readyz and the gpuctld_ready metric.

#include <vector>

#include "daemon/api/services.hpp"

namespace gpuctl::api {

std::vector<ports::HealthLine> readiness(const Services& services);
// Why a change is refused, with its cause: "another one leads" is no answer when the cluster cannot
// be reached.
Error with_cause(const Services& services, Error refused);
bool all_ok(const std::vector<ports::HealthLine>& lines);

}  // namespace gpuctl::api
