#pragma once
// Views as JSON (contract.md 1.3 and 2, camelCase). The only place that knows the fields' names.

#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/core/history.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

using Json = nlohmann::ordered_json;

// GPUs are numbers: whole ones without a fraction.
Json gpus_json(GpuMilli amount);

Json job_row(const JobView& job, Instant now);
// In a list of pods, for a job that has none yet.
Json row_without_pods(const JobView& job, Instant now);
Json pod_row(const JobView& job, const PodView& pod, Instant now);
Json job_detail(const JobView& job, const std::vector<core::JobEvent>& events, Instant now);
// Null when nothing can be told; of its members those are null that cannot.
Json start_json(const std::optional<StartEstimate>& start);
Json pod_json(const PodView& pod);
Json explanation_json(const Explanation& explanation);
Json pool_json(const PoolView& pool);
// As the configuration spells it: "FAIR_SHARE".
std::string_view order_name(QueueOrder order);
Json queue_json(const QueueView& queue);
Json budget_json(const BudgetView& budget);
Json turn_json(const TurnView& turn);
Json node_row(const NodeView& node);
Json node_detail(const NodeView& node, Instant now);

std::string kind_name(const JobView& job);
std::string pod_status(const PodView& pod);
std::string node_status(const NodeView& node);  // active, maintaining, faulty

}  // namespace gpuctl::api
