#pragma once
// Logs changes of the lines of /readyz, so that the log alone explains why nothing is placed.

#include <map>
#include <string>
#include <vector>

#include "aio/task.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::api {
struct Services;
}

namespace gpuctl::app {

class HealthChanges {
public:
    // The lines that changed since the last call: another `ok`, or, for the lease, another leader.
    // A line that is ok from the start is no change.
    std::vector<ports::HealthLine> since_last(const std::vector<ports::HealthLine>& lines);

private:
    std::map<std::string, std::string> reported_;
};

// Until cancelled. `services` outlives it.
aio::Task<void> log_health_changes(const api::Services& services);

}  // namespace gpuctl::app
