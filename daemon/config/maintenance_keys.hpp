#pragma once
// The keys of maintenance windows.

#include "daemon/config/keys.hpp"

namespace gpuctl::config {

std::vector<std::pair<std::string_view, Drain>> drains();
// Maintenance, or reservations: both are windows of the policy.
Key<Policy> maintenance();
Key<Policy> reservations();
// Names, and whom the windows are for; what each says by itself is checked where it is read.
void check_windows(const Policy& policy, const wire::Field& field);

}  // namespace gpuctl::config
