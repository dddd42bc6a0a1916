#pragma once
// Figures that several rows of the table of limits read, or that need more than an expression.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/state/accounts/limits/limit_row.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::limits {

// The used and the committed time of a budget, and the time that the job would need until its
// run-time limit or the end of the period. Absent: there is no budget.
std::optional<LimitFigures> budget_figures(const Budget* budget, const LimitAt& at,
                                           GpuTime released_usage);

// True if the next pod of the job may use the reserve of its pool. The next pod is the first rank
// that waits, or the rank after `pods_held`: pods of an earlier run may still hold resources while
// the first ranks wait.
bool would_grow(const ClusterState& state, const JobRow& job, std::int64_t pods_held);
std::optional<LimitFigures> reserve_figures(const LimitAt& at);
std::optional<LimitFigures> pool_lending_figures(const LimitAt& at);

// GPUs of the model that the queues of the pool would reserve if `more` were held in `leaf`.
// Counted::without_nominations: nominated GPUs do not count as held.
enum class Counted : std::uint8_t { all, without_nominations };
GpuMilli reserved_of_model(const ClusterState& state, PoolId pool, std::string_view model,
                           QueueId leaf, GpuMilli more, const ReleasedUsage* released,
                           Counted counted = Counted::all);
bool reserves_idle(const ClusterState& state, PoolId pool, const ModelRoom& room);
std::optional<LimitFigures> model_lending_figures(const ClusterState& state, const JobRow& job,
                                                  const ModelRoom& room, GpuMilli ask,
                                                  const ReleasedUsage* released);
// True if `ask` more of the model would take GPUs that are reserved for other queues.
bool crosses_model_lending(const ClusterState& state, const JobRow& job, const ModelRoom& room,
                           GpuMilli ask, const ReleasedUsage* released);

const PlacementRules& rules_of(const ClusterState& state, const JobRow& job);
// True if the pool has nodes that the job accepts, with GPUs of a model that is not in `barred`.
bool leaves_other_models(const ClusterState& state, const JobRow& job,
                         const std::vector<std::string_view>& barred);

// Guarantees that other queues do not lend even while they are idle: the siblings of the job's
// queue and of the queues above it, up to `top`; QueueId::none(): in the whole pool.
GpuMilli reserved_when_idle(const ClusterState& state, PoolId pool, QueueId leaf, QueueId top);
GpuMilli gpus_of_nodes(const ClusterState& state, PoolId pool);

}  // namespace gpuctl::limits
