#pragma once
// Views as JSON (camelCase). The only place that knows the names of the fields.

#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/api/events/cluster_events.hpp"
#include "daemon/core/history.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

using Json = nlohmann::ordered_json;

inline constexpr std::string_view kNotAvailable = "N/A";
inline constexpr std::string_view kNoContainers = "0/0";

// GPUs are numbers: whole ones without a fraction.
Json gpus_json(GpuMilli amount);

// The members of a job's row (job_rows.hpp) and all further details, as text.
std::string job_detail(Listing& listing, const JobView& job, const ShownEvents& events, Json access,
                       Instant now);
// Null when there is no estimate; single members are null when unknown.
Json start_json(const std::optional<StartEstimate>& start);
Json pod_json(const PodView& pod);
Json explanation_json(const Explanation& explanation);
Json event_json(const core::JobEvent& event, std::string_view from, Instant now);
Json pool_json(const PoolView& pool);
// As the configuration spells it: "FAIR_SHARE".
std::string_view order_name(QueueOrder order);
Json queue_json(const QueueView& queue);
Json budget_json(const BudgetView& budget);
Json turn_json(const TurnView& turn);
Json node_row(const NodeView& node);
Json node_detail(const NodeView& node, Instant now);
// An entry for each GPU. Which of them a pod uses is known of fractions only, so used ones come
// first.
Json gpu_details(const NodeView& node);

std::string pod_status(const PodView& pod);
std::string_view node_status(const ClusterState& state, NodeId node);  // active, maintaining, ...
std::string_view node_status(const NodeView& node);

}  // namespace gpuctl::api
