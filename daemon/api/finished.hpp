#pragma once
// Finished jobs of which only a summary is kept (ADR 0030): what to say of what is gone.

#include <optional>
#include <string>

#include "daemon/api/shapes.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::api {

// What of the job is no longer kept, and which key decides; empty: all is.
std::string not_kept_sentence(const ClusterState& state, const JobView& job);
// Its log cannot be read because its pods are not kept; nothing: that is not why.
std::optional<Error> log_not_kept(const ClusterState& state, const JobView& job);

}  // namespace gpuctl::api
