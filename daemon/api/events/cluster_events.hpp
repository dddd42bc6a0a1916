#pragma once
// Events about jobs: our own, and those that the kubelet and controllers report to the cluster.

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
    std::string missing;           // why the cluster's events are missing; empty: all are there
};

// What the kubelet and controllers report in a namespace, or in all (empty).
struct ReportedEvents {
    ports::ClusterEvents events;
    std::string missing;
};
aio::Task<ReportedEvents> read_reported_events(Services& services, std::string namespace_name);

// Our own and the cluster's about the job: its workload, what controllers made of it, its pods.
ShownEvents events_of(const ClusterState& state, std::vector<core::JobEvent> own,
                      const ReportedEvents& reported, const JobView& job);

// Our own and the cluster's about all jobs of ours.
ShownEvents events_of_jobs(const ClusterState& state, std::vector<core::EventOfJob> own,
                           const ReportedEvents& reported);

}  // namespace gpuctl::api
