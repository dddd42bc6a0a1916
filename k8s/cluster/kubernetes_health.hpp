#pragma once
// Readiness of the API server, the object cache, and the lease, for /readyz.

#include <cstddef>
#include <string>
#include <vector>

#include "k8s/cluster/server_probe.hpp"
#include "k8s/lease/lease_keeper.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::k8s {

// `watch_error` explains a silence that no health probe has seen yet.
ports::HealthLine server_health(const ServerProbe& probe, const std::string& watch_error);

// `errors` of the informers; empty ones are ignored.
ports::HealthLine cache_health(bool synced, std::size_t pods, std::size_t nodes,
                               const std::vector<std::string>& errors);

// Following is healthy too; the detail names the leader. `is_reported`: the engine knows of our
// term.
ports::HealthLine lease_health(const LeaseKeeper::View& lease, bool is_reported);

}  // namespace gpuctl::k8s
