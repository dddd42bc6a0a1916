#pragma once
// The earliest time at which the budgets that a job draws on let it begin. Neither a reservation
// nor an estimate may be earlier.

#include <cstdint>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The assumption about other work that draws on the budgets.
enum class Others : std::uint8_t { run_to_their_limits, end_at_once };

// Not before `from`; never: unknown.
Instant begins_by_budgets(const ClusterState& state, const JobRow& job, GpuMilli gpus, Instant from,
                          Others others = Others::run_to_their_limits);

}  // namespace gpuctl
