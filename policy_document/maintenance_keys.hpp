#pragma once
// The keys of maintenance windows.

#include "policy_document/keys.hpp"

namespace gpuctl::config {

std::vector<std::pair<std::string_view, Drain>> drains();
// Maintenance, or reservations: both are windows of the policy.
Key<Policy> maintenance();
Key<Policy> reservations();
// Checks names and beneficiaries of windows; the rest is checked where a window is read.
void check_windows(const Policy& policy, const wire::Field& field);

}  // namespace gpuctl::config
