#pragma once
// What /readyz says of the API server, the cache of its objects, and the lease.

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/ports/cluster.hpp"
#include "k8s/lease_keeper.hpp"
#include "k8s/server_pulse.hpp"

namespace gpuctl::k8s {

// `watch_error` explains a silence that no request of the pulse has met yet.
ports::HealthLine server_health(const ServerPulse& pulse, const std::string& watch_error);

// `errors` of those who list; empty ones say nothing.
ports::HealthLine cache_health(bool synced, std::size_t pods, std::size_t nodes,
                               const std::vector<std::string>& errors);

// Following is healthy too; the detail says who leads. `told`: the engine knows of our term.
ports::HealthLine lease_health(const LeaseKeeper::View& lease, bool told);

}  // namespace gpuctl::k8s
