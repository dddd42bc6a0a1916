#pragma once
// What a namespace's quota leaves for a new job: a job that must wait for quota is accepted, with a
// warning that says so.

#include <optional>
#include <string>

#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::api {

// nullopt: the quota leaves enough for the job's smallest size, or there is none.
std::optional<std::string> head_room_warning(const ClusterState& state, const JobSpec& spec);

}  // namespace gpuctl::api
