#pragma once
// Writes to the log when a line of /readyz turns, so that somebody who reads only the log learns
// why nothing is placed.

#include <map>
#include <string>
#include <vector>

#include "daemon/aio/task.hpp"
#include "daemon/ports/cluster.hpp"

namespace gpuctl::api {
struct Services;
}

namespace gpuctl::app {

class HealthChanges {
public:
    // The lines that are not as they were at the last call: another `ok`, or, where the line is the
    // lease's, another leader. A line that is fine from the start is no change.
    std::vector<ports::HealthLine> since_last(const std::vector<ports::HealthLine>& lines);

private:
    std::map<std::string, std::string> told_;
};

// Until cancelled. `services` outlives it.
aio::Task<void> log_health_changes(const api::Services& services);

}  // namespace gpuctl::app
