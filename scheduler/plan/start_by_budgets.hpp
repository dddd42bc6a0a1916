#pragma once
// When the budgets that a job draws on let it begin: what it is promised must be that late, and
// what it is told.

#include <cstdint>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What is thought of what draws on them, too.
enum class Others : std::uint8_t { run_to_their_limits, end_at_once };

// No sooner than `from`; never: that cannot be told.
Instant begins_by_budgets(const ClusterState& state, const JobRow& job, GpuMilli gpus, Instant from,
                          Others others = Others::run_to_their_limits);

}  // namespace gpuctl
