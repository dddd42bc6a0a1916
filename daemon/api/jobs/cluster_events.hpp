#pragma once
// Events about jobs: our own, and those that others report to the cluster.

#include <string>
#include <vector>

#include "aio/task.hpp"
#include "daemon/api/http/services.hpp"
#include "daemon/core/history.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

struct ShownEvent {
    ObjectKey job;
    core::JobEvent event;
    std::string from = "gpuctld";
};

struct ShownEvents {
    std::vector<ShownEvent> list;  // newest first
    std::string missing;           // why events of others are missing; empty: all are there
};

// What others report in a namespace, or in all (empty).
struct OthersEvents {
    ports::ClusterEvents events;
    std::string missing;
};
aio::Task<OthersEvents> read_others_events(Services& services, std::string namespace_name);

// Our own and those of others about the job: its workload, what controllers made of it, its pods.
ShownEvents events_of(const ClusterState& state, std::vector<core::JobEvent> own,
                      const OthersEvents& others, const JobView& job);

// Our own and those of others about jobs of ours.
ShownEvents events_of_jobs(const ClusterState& state, std::vector<core::EventOfJob> own,
                           const OthersEvents& others);

}  // namespace gpuctl::api
