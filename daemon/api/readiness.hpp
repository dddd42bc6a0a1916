#pragma once
// Whether this daemon does its work, line by line, for /readyz and the gpuctld_ready metric.

#include <vector>

#include "daemon/api/services.hpp"

namespace gpuctl::api {

std::vector<ports::HealthLine> readiness(const Services& services);
bool all_ok(const std::vector<ports::HealthLine>& lines);

}  // namespace gpuctl::api
