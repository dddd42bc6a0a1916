#pragma once
// The keys of maintenance windows.

#include "daemon/config/keys.hpp"

namespace gpuctl::config {

std::vector<std::pair<std::string_view, Drain>> drains();
MaintenanceWindow example_window();

}  // namespace gpuctl::config
