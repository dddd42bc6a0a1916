#pragma once
// The directory of a daemon's journal.

#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::app {

// The configured directory, else $STATE_DIRECTORY (systemd), else $XDG_STATE_HOME/gpuctl, else
// ~/.local/state/gpuctl; made if absent, for its owner only.
Result<std::string> resolve_state_directory(const std::string& configured);

// One folder per cluster below it: "embedded", or "kubernetes-<cluster id>".
std::string journal_folder(const std::string& state_directory, const std::string& mode,
                           const std::string& cluster_id);

}  // namespace gpuctl::app
