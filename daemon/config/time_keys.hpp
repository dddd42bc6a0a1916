#pragma once
// Points in time in gpuctld.yaml.

#include <optional>

#include "daemon/wire/fields.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::config {

// With its offset from UTC; reports what is wrong.
std::optional<Instant> read_time(const wire::Field& field);

}  // namespace gpuctl::config
