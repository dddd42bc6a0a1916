#pragma once
// spdlog to standard output: one event per line, a fixed message and key=value, UTC.

#include "daemon/config/config.hpp"

namespace gpuctl::app {

void set_up_logging(const config::Logging& logging);
void set_log_level(const std::string& level);

}  // namespace gpuctl::app
