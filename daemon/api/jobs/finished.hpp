#pragma once
// Finished jobs of which only a summary is stored (ADR 0030): explains missing data.

#include <optional>
#include <string>

#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::api {

// Which data of the job is deleted, and which key decides; empty: all is stored.
std::string not_kept_sentence(const ClusterState& state, const JobView& job);
// The job's log cannot be read because its pods are not stored; nullopt: not the reason.
std::optional<Error> log_not_kept(const ClusterState& state, const JobView& job);

}  // namespace gpuctl::api
