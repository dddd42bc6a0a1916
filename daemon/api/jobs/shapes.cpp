#include "daemon/api/jobs/shapes.hpp"

#include <algorithm>

#include "daemon/api/http/reply.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wire/period.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

std::string ready_of(const PodView& pod) {
    if (pod.bind_state == BindState::waiting || pod.bind_state == BindState::assumed) {
        return std::string{kNoContainers};
    }
    return is_ready(pod.facts) ? "1/1" : "0/1";
}

Json thousandths_json(std::int64_t value) {
    if (value % 1000 == 0) return value / 1000;
    return static_cast<double>(value) / 1000;
}

// GPUs and cores as in every other answer; the core stores thousandths.
Json figure_json(const Figure& figure) {
    const bool thousandths = figure.name.starts_with("gpus_") || figure.name.starts_with("cpu_");
    return thousandths ? thousandths_json(figure.value) : Json(figure.value);
}

}  // namespace

Json pod_json(const PodView& pod) {
    Json body;
    body["name"] = pod.facts.key.name;
    body["uid"] = pod.facts.uid;
    body["status"] = pod_status(pod);
    body["ready"] = ready_of(pod);
    body["restarts"] = pod.facts.restarts;
    body["node"] = pod.node.empty() ? kNotAvailable : pod.node;
    body["rank"] = pod.facts.rank < 0 ? Json{} : Json(pod.facts.rank);
    body["role"] = pod.facts.role.empty() ? Json{} : Json(pod.facts.role);
    body["gpu"] = gpus_json(gpus_total(pod.facts.request));
    body["createdAt"] = format_time(pod.facts.created_at);
    body["startedAt"] = format_time(pod.facts.started_at);
    body["finishedAt"] = format_time(pod.facts.finished_at);
    return body;
}

Json start_json(const std::optional<StartEstimate>& start) {
    if (!start) return {};
    const auto time_or_null = [](Instant at) {
        return at.happened() ? Json(format_time(at)) : Json{};
    };
    Json body;
    body["earliest"] = time_or_null(start->earliest);
    body["likely"] = time_or_null(start->likely);
    body["latest"] = time_or_null(start->latest);
    body["mayBeOvertaken"] = start->may_be_passed;
    body["reservedFrom"] = time_or_null(start->reserved_from);
    return body;
}

Json gpus_json(GpuMilli amount) {
    static_assert(kGpuMilliPerGpu == 1000);
    return thousandths_json(amount.value());
}

std::string pod_status(const PodView& pod) { return std::string{pod_status(pod.facts)}; }

Json explanation_json(const Explanation& explanation) {
    Json body;
    body["reason"] = to_string(explanation.reason);
    body["subject"] = explanation.subject;
    body["sentence"] = wording::sentence(explanation);
    body["figures"] = Json::object();
    for (const Figure& figure : explanation.figures) {
        body["figures"][figure.name] = figure_json(figure);
    }
    body["nodes"] = Json::array();
    for (const NodeTally& tally : explanation.tallies) {
        body["nodes"].push_back({{"message", tally.message}, {"nodes", tally.nodes}});
    }
    body["nodesTotal"] = explanation.nodes_total;
    return body;
}

std::string_view order_name(QueueOrder order) {
    switch (order) {
        case QueueOrder::fair_share:
            return "FAIR_SHARE";
        case QueueOrder::fifo:
            return "FIFO";
        case QueueOrder::priority:
            return "PRIORITY";
        case QueueOrder::capacity:
            return "CAPACITY";
        case QueueOrder::shortest:
            return "SHORTEST";
    }
    return "";
}

Json budget_json(const BudgetView& budget) {
    const auto hours = [](GpuTime time) {
        constexpr std::int64_t per_thousandth = kGpuTimePerGpuHour / 1000;
        return thousandths_json(time.value() / per_thousandth);
    };
    const GpuTime limit = budget.policy.amount + budget.carried;
    return {{"gpuHours", hours(budget.policy.amount)},
            {"period", wire::format_period(budget.policy)},
            {"start", format_time(budget.period.begin)},
            {"end", format_time(budget.period.end)},
            {"carried", hours(budget.carried)},
            {"used", hours(budget.used)},
            {"committed", hours(budget.committed)},
            {"remaining", hours(limit - budget.used - budget.committed)}};
}

Json queue_json(const QueueView& queue) {
    Json body;
    body["pool"] = queue.pool;
    const auto limit = [](const std::optional<GpuMilli>& gpus) {
        return gpus ? gpus_json(*gpus) : Json{};
    };
    body["name"] = queue.name;
    body["path"] = queue.path;
    body["parent"] = queue.parent.empty() ? Json{} : Json(queue.parent);
    body["depth"] = queue.depth;
    body["hasChildren"] = queue.holds_queues;
    body["declared"] = queue.is_declared;
    body["order"] = order_name(queue.order);
    body["priority"] = queue.priority;
    body["weight"] = queue.weight;
    body["guaranteed"] = gpus_json(queue.guaranteed);
    body["maximum"] = limit(queue.maximum);
    body["isGuaranteeValid"] = !queue.is_beyond_guarantee;
    body["borrowingLimit"] = limit(queue.borrowing_limit);
    body["notLent"] = gpus_json(queue.not_lent);
    body["maxJobs"] = queue.jobs_maximum ? Json(*queue.jobs_maximum) : Json{};
    body["maxGpuPerJob"] = limit(queue.gpus_per_job_maximum);
    body["models"] = Json::array();
    for (const ModelHolding& of : queue.models) {
        body["models"].push_back({{"model", of.limit.model},
                                  {"guaranteed", gpus_json(of.limit.guaranteed)},
                                  {"maximum", limit(of.limit.maximum)},
                                  {"held", gpus_json(of.held)}});
    }
    body["budget"] = queue.budget ? budget_json(*queue.budget) : Json{};
    body["held"] = gpus_json(queue.held);
    body["nominated"] = gpus_json(queue.nominated);
    body["entitled"] = gpus_json(queue.entitled);
    body["sharePartsPerBillion"] = queue.share;  // dominant share of the pool, held and used
    body["used"] = {{"gpus", gpus_json(queue.used.gpus)},
                    {"cpu", format_cpu(queue.used.cpu)},
                    {"memory", format_bytes(queue.used.memory)}};
    body["jobsWaiting"] = queue.jobs_waiting;
    body["jobsRunning"] = queue.jobs_running;
    body["gpusWaiting"] = gpus_json(queue.gpus_waiting);
    return body;
}

Json turn_json(const TurnView& turn) {
    Json body;
    body["order"] = order_name(turn.order);
    body["priority"] = turn.priority + turn.priority_by_waiting;
    body["priorityBase"] = turn.priority;
    body["priorityByWaiting"] = turn.priority_by_waiting;
    body["waitedMs"] = turn.waited.ms();
    body.update({{"deadline", format_time(turn.due_at)},
                 {"slowdownFactor", turn.due_times},
                 {"latestStart", format_time(turn.begin_by)},
                 {"boostFrom", format_time(turn.sooner_from)},
                 {"boostUntil", format_time(turn.sooner_until)}});
    body["runTime"] = Json{};
    if (turn.run_time) {
        body["runTime"] = {{"ms", turn.run_time->time.ms()},
                           {"isKnown", turn.run_time->is_known},
                           {"isRemaining", turn.run_time->is_left},
                           {"isDeclared", turn.run_time->is_declared},
                           {"gpus", gpus_json(turn.run_time->gpus)},
                           {"gpuExponentPercent", turn.run_time->gpu_exponent_percent},
                           {"halfLifeMs", turn.run_time->halved_every.ms()}};
    }
    body["ahead"] = {{"count", turn.ahead_count}, {"jobs", Json::array()}};
    for (const ObjectKey& key : turn.ahead) {
        body["ahead"]["jobs"].push_back(
            {{"namespace", key.namespace_name}, {"jobId", shown_name(key)}});
    }
    body["tenant"] = {{"name", turn.tenant},
                      {"share", turn.tenant_share},
                      {"recentUsage", turn.tenant_recent_usage},
                      {"weight", turn.tenant_weight},
                      {"held", gpus_json(turn.tenant_held)},
                      {"terminating", gpus_json(turn.tenant_terminating)},
                      {"quota", turn.tenant_quota ? gpus_json(*turn.tenant_quota) : Json{}}};
    body["queues"] = Json::array();
    for (const TurnView::Level& level : turn.levels) {
        body["queues"].push_back({{"queue", level.queue},
                                  {"order", order_name(level.order)},
                                  {"priority", level.priority},
                                  {"guaranteed", gpus_json(level.guaranteed)},
                                  {"isGuaranteeValid", !level.is_beyond_guarantee},
                                  {"held", gpus_json(level.held)},
                                  {"terminating", gpus_json(level.terminating)},
                                  {"share", level.share},
                                  {"recentUsage", level.recent_usage},
                                  {"weight", level.weight}});
    }
    return body;
}

}  // namespace gpuctl::api
