#pragma once
// The type of points in time in gpuctld.yaml.

#include <optional>

#include "scheduler/base/time.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

// With its offset from UTC; reports an error.
std::optional<Instant> read_time(const wire::Field& field);

}  // namespace gpuctl::config
