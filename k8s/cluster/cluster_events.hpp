#pragma once
// Events that the kubelet, controllers and other schedulers report (core/v1), read when a user
// looks. Our own are in the daemon's history and are left out here.

#include <string>
#include <string_view>

#include "k8s/client/client.hpp"
#include "ports/cluster.hpp"

namespace gpuctl::k8s {

// Adds the events of an EventList; returns its continue token, "" at the end.
std::string read_events(std::string_view list, std::vector<ports::ClusterEvent>& out);

// What was read last, for a short time: clients that poll jobs cause one list.
struct EventCache {
    std::string namespace_name;
    ports::ClusterEvents events;
    aio::Clock::time_point until{};
};

// Of one namespace, or of all (empty). At most kEventPages pages.
aio::Task<Result<ports::ClusterEvents>> list_events(Client& client, EventCache& cache,
                                                    std::string namespace_name,
                                                    aio::Deadline deadline);

}  // namespace gpuctl::k8s
