#pragma once
// Figures that several rows of the table of limits read, or that take more than an expression.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/state/accounts/limits/limit_row.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::limits {

// What was used of a budget and is committed to running pods, and what the job would need until its
// run-time limit, or the period, ends. Null: no budget.
std::optional<LimitFigures> budget_figures(const Budget* budget, const LimitAt& at,
                                           GpuTime released_usage);

// Would another pod of it be work that the reserve of its pool is for: the first rank that waits,
// or the next after `pods_held`? Pods of an earlier run may hold still while its first ranks wait.
bool would_grow(const ClusterState& state, const JobRow& job, std::int64_t pods_held);
std::optional<LimitFigures> reserve_figures(const LimitAt& at);
std::optional<LimitFigures> pool_lending_figures(const LimitAt& at);

// GPUs of the model that the queue and the queues below it would reserve if `more` were held in
// `leaf`. Counted::without_nominations: without what is only claimed.
enum class Counted : std::uint8_t { all, without_nominations };
GpuMilli reserved_of_model(const ClusterState& state, PoolId pool, std::string_view model,
                           QueueId leaf, GpuMilli more, const ReleasedUsage* released,
                           Counted counted = Counted::all);
bool reserves_idle(const ClusterState& state, PoolId pool, const ModelRoom& room);
std::optional<LimitFigures> model_lending_figures(const ClusterState& state, const JobRow& job,
                                                  const ModelRoom& room, GpuMilli ask,
                                                  const ReleasedUsage* released);
// `ask` more of the model would take what is reserved for other queues.
bool crosses_model_lending(const ClusterState& state, const JobRow& job, const ModelRoom& room,
                           GpuMilli ask, const ReleasedUsage* released);

const PlacementRules& rules_of(const ClusterState& state, const JobRow& job);
// The pool of the job has nodes that it accepts, with GPUs of other models than these.
bool leaves_other_models(const ClusterState& state, const JobRow& job,
                         const std::vector<std::string_view>& barred);

// Guarantees that other queues do not lend even while nothing runs: next to the job's queue and
// those above it, up to `top`; QueueId::none(): in the whole pool.
GpuMilli reserved_when_idle(const ClusterState& state, PoolId pool, QueueId leaf, QueueId top);
GpuMilli gpus_of_nodes(const ClusterState& state, PoolId pool);

}  // namespace gpuctl::limits
