#pragma once
// Reads gpuctld.yaml. Unknown key, wrong type, impossible value, a key of the mode that is not
// chosen: an Error (InvalidConfiguration) with file, line, column and, for names, the nearest right
// one.

#include <string>
#include <string_view>

#include "daemon/config/config.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::config {

Result<Config> load_file(const std::string& path);
Result<Config> parse(std::string_view yaml, const std::string& file_name);

// Combinations that must not start: a non-loopback address without TLS and tokens, ...
Result<void> check_safe(const Config& config);

// What may change on SIGHUP without a restart (policy, tokens, certificates, logging level);
// anything else that differs is named in the Error and nothing is taken over.
Result<void> check_reloadable(const Config& running, const Config& wanted);

}  // namespace gpuctl::config
