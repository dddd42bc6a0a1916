#include "daemon/api/shapes.hpp"

#include <algorithm>

#include "daemon/api/reply.hpp"
#include "daemon/wire/period.hpp"
#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/model/quantity.hpp"

namespace gpuctl::api {
namespace {

constexpr const char* kNotAvailable = "N/A";
constexpr const char* kNoContainers = "0/0";

bool is_ready(const PodView& pod) {
    return pod.facts.phase == PodPhase::running && pod_status(pod) == "Running";
}

std::string ready_of(const PodView& pod) {
    if (pod.standing == PodStanding::waiting || pod.standing == PodStanding::assumed) {
        return kNoContainers;
    }
    return is_ready(pod) ? "1/1" : "0/1";
}

std::string ready_of(const JobView& job) {
    const std::string least = job.ranks_max == 0 ? "" : std::to_string(job.ranks_min) + "-";
    const std::int64_t most = job.ranks_max == 0 ? job.pods_wanted : job.ranks_max;
    const auto ready = std::count_if(job.pods.begin(), job.pods.end(), is_ready);
    return std::to_string(ready) + "/" + least + std::to_string(most);
}

std::string priority_of(const JobView& job) {
    if (job.record != nullptr) return std::string{to_string(job.record->spec.priority)};
    for (const JobPriority named : {JobPriority::low, JobPriority::medium, JobPriority::high}) {
        if (job.kind && priority_value(named) == job.priority) return std::string{to_string(named)};
    }
    return std::to_string(job.priority);
}

// "H100,A100": the preferred one first.
std::string gpu_type_of(const JobView& job) {
    if (job.summary != nullptr) return job.summary->gpu_type;
    PlacementRules rules;
    if (job.record != nullptr) {
        set_gpu_models(job.record->spec, rules);
    } else if (!job.pods.empty()) {
        rules = job.pods.front().facts.rules;
    }
    std::string text;
    for (const std::string& model : gpu_models(rules)) text += (text.empty() ? "" : ",") + model;
    return text;
}

Json resources_json(const JobView& job) {
    Json body;
    body["gpu"] = gpus_json(job.gpus_per_pod);
    body["gpuType"] = gpu_type_of(job);
    if (job.record != nullptr) {
        body["cpu"] = format_cpu(job.record->spec.cpu);
        body["memory"] = format_bytes(job.record->spec.memory);
    } else if (!job.pods.empty()) {
        body["cpu"] = format_cpu(job.pods.front().facts.request.cpu);
        body["memory"] = format_bytes(job.pods.front().facts.request.memory);
    }
    body["pods"] = job.pods_wanted;
    return body;
}

// What all of its pods ask for, those that are still to be made included.
GpuMilli gpus_of_all(const JobView& job) {
    if (job.summary != nullptr) return job.summary->gpus;
    GpuMilli sum;
    std::int64_t missing = job.pods_wanted;
    for (const PodView& pod : job.pods) {
        if (pod.facts.terminating) continue;  // another is made in its place
        sum += gpus_total(pod.facts.request);
        --missing;
    }
    return sum + job.gpus_per_pod * std::max<std::int64_t>(missing, 0);
}

void add_common(Json& body, const JobView& job, Instant now) {
    body["pool"] = job.pool;
    body["queue"] = job.queue;
    body["priority"] = priority_of(job);
    body["gpu"] = gpus_json(job.gpus_per_pod);
    body["gpuType"] = gpu_type_of(job);
    body["reason"] = job.waiting ? std::string{to_string(job.waiting->reason)} : std::string{};
    body["position"] = job.position;
    body["estimatedStart"] = start_json(job.start);
    body["createdAt"] = format_time(job.submitted_at);
    body["startedAt"] = format_time(job.started_at);
    body["age"] = format_age(job.submitted_at, now);
}

Json thousandths_json(std::int64_t value) {
    if (value % 1000 == 0) return value / 1000;
    return static_cast<double>(value) / 1000;
}

// GPUs and cores as every other address gives them; the core counts in thousandths.
Json figure_json(const Figure& figure) {
    const bool thousandths = figure.name.starts_with("gpus_") || figure.name.starts_with("cpu_");
    return thousandths ? thousandths_json(figure.value) : Json(figure.value);
}

Json events_json(const std::vector<core::JobEvent>& events, Instant now) {
    Json list = Json::array();
    for (const core::JobEvent& event : events) {
        Json entry;
        entry["time"] = format_time(event.at);
        entry["firstTime"] = format_time(event.first_at);
        entry["age"] = format_age(event.at, now);
        entry["type"] = event.warning ? "Warning" : "Normal";
        entry["reason"] = event.reason;
        entry["from"] = "gpuctld";
        entry["object"] = event.object;
        entry["message"] = event.message;
        entry["count"] = event.count;
        list.push_back(std::move(entry));
    }
    return list;
}

std::string uid_of(const JobView& job) {
    if (job.record != nullptr) return job.record->uid;
    return job.summary != nullptr ? job.summary->uid : "";
}

// All that is known of them, in the shape of pod_json().
void add_ended_pods(const FinishedJob& job, Json& pods, Json& names) {
    for (const EndedPod& pod : job.ended_pods) {
        const std::string name = name_of(pod, job.key);
        pods.push_back({{"name", name},
                        {"uid", text_of(pod.uid)},
                        {"status", pod.succeeded ? "Succeeded" : "Failed"},
                        {"ready", "0/1"},
                        {"node", kNotAvailable}});
        names.push_back(name);
    }
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
    const auto moment = [](Instant at) { return at.happened() ? Json(format_time(at)) : Json{}; };
    Json body;
    body["earliest"] = moment(start->earliest);
    body["likely"] = moment(start->likely);
    body["latest"] = moment(start->latest);
    body["mayBePassed"] = start->may_be_passed;
    body["roomKeptFrom"] = moment(start->room_kept_from);
    return body;
}

Json gpus_json(GpuMilli amount) {
    static_assert(kGpuMilliPerGpu == 1000);
    return thousandths_json(amount.value());
}

std::string kind_name(const JobView& job) {
    return job.kind ? std::string{to_string(*job.kind)} : "pod";
}

std::string pod_status(const PodView& pod) {
    if (pod.facts.terminating && !is_terminal(pod.facts.phase)) return "Terminating";
    if (!pod.facts.status.empty()) return pod.facts.status;
    constexpr std::string_view names[] = {"Pending", "Running", "Succeeded", "Failed"};
    return std::string{names[static_cast<std::size_t>(pod.facts.phase)]};
}

Json job_row(const JobView& job, Instant now) {
    Json body;
    body["jobId"] = shown_name(job.key);
    body["name"] = shown_name(job.key);
    body["namespace"] = job.key.namespace_name;
    body["kind"] = kind_name(job);
    body["status"] = job.status;
    body["ready"] = ready_of(job);
    body["node"] = kNotAvailable;
    std::string nodes;
    for (const PodView& pod : job.pods) {
        if (pod.node.empty() || ("," + nodes + ",").find("," + pod.node + ",") != nodes.npos) {
            continue;
        }
        nodes += (nodes.empty() ? "" : ",") + pod.node;
    }
    if (job.summary != nullptr) nodes = job.summary->nodes;
    if (!nodes.empty()) body["node"] = nodes;
    body["ip"] = kNotAvailable;
    add_common(body, job, now);
    body["gpuTotal"] = gpus_json(gpus_of_all(job));
    body["summary"] = job.summary != nullptr;
    return body;
}

Json row_without_pods(const JobView& job, Instant now) {
    Json body = job_row(job, now);
    if (job.summary == nullptr) body["ready"] = kNoContainers;
    return body;
}

// The row's id is the pod's name: every address that takes a job's id takes it, too (ruling 6).
Json pod_row(const JobView& job, const PodView& pod, Instant now) {
    Json body;
    body["jobId"] = pod.facts.key.name;
    body["name"] = shown_name(job.key);
    body["namespace"] = job.key.namespace_name;
    body["kind"] = kind_name(job);
    body["status"] = pod_status(pod);
    body["ready"] = ready_of(pod);
    body["node"] = pod.node.empty() ? kNotAvailable : pod.node;
    body["ip"] = pod.facts.address.empty() ? kNotAvailable : pod.facts.address;
    add_common(body, job, now);
    body["gpu"] = gpus_json(gpus_total(pod.facts.request));
    if (!pod.node.empty()) {  // others of its job may wait
        body["reason"] = "";
        body["position"] = 0;
        body["estimatedStart"] = Json{};
    }
    body["createdAt"] = format_time(pod.facts.created_at);
    body["startedAt"] = format_time(pod.facts.started_at);
    body["age"] = format_age(pod.facts.created_at, now);
    return body;
}

Json explanation_json(const Explanation& explanation) {
    Json body;
    body["reason"] = to_string(explanation.reason);
    body["subject"] = explanation.subject;
    body["sentence"] = explanation.sentence;
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

Json job_detail(const JobView& job, const std::vector<core::JobEvent>& events, Instant now) {
    Json body = job_row(job, now);
    body["version"] = job.record != nullptr ? job.record->spec.version : "";
    body["description"] = job.record != nullptr ? job.record->spec.description : "";
    body["uid"] = uid_of(job);
    body["priorityValue"] = job.priority;
    body["finishedAt"] = format_time(job.finished_at);
    body["gang"] = job.gang;
    body["ranksMin"] = job.ranks_min;
    body["roles"] = Json::array();
    for (const RoleView& role : job.roles) {
        body["roles"].push_back(
            {{"name", role.minimum.role}, {"ranksMin", role.minimum.ranks}, {"ranks", role.ranks}});
    }
    body["size"] = job.size;
    body["podsWanted"] = job.pods_wanted;
    body["podsRunning"] = job.pods_running;
    body["resources"] = resources_json(job);
    body["waiting"] = job.waiting ? explanation_json(*job.waiting) : Json{};
    body["message"] = job.summary != nullptr ? job.summary->message : "";
    body["pods"] = Json::array();
    Json names = Json::array();
    if (job.summary != nullptr) add_ended_pods(*job.summary, body["pods"], names);
    for (const PodView& pod : job.pods) {
        body["pods"].push_back(pod_json(pod));
        names.push_back(pod.facts.key.name);
    }
    body["k8sResources"] = {{"jobName", shown_name(job.key)}, {"pods", std::move(names)}};
    body["events"] = events_json(events, now);
    body["yamlContent"] = job.record != nullptr ? job.record->source : "";
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
            {"left", hours(limit - budget.used - budget.committed)}};
}

Json queue_json(const QueueView& queue) {
    Json body;
    body["pool"] = queue.pool;
    const auto limit = [](const std::optional<GpuMilli>& gpus) {
        return gpus ? gpus_json(*gpus) : Json{};
    };
    body["name"] = queue.name;
    body["path"] = queue.path;
    body["parent"] = queue.parent.empty() ? Json{} : Json{queue.parent};
    body["depth"] = queue.depth;
    body["holdsQueues"] = queue.holds_queues;
    body["declared"] = queue.is_declared;
    body["order"] = order_name(queue.order);
    body["priority"] = queue.priority;
    body["weight"] = queue.weight;
    body["guaranteed"] = gpus_json(queue.guaranteed);
    body["maximum"] = limit(queue.maximum);
    body["guaranteeHolds"] = !queue.is_beyond_guarantee;
    body["borrowingLimit"] = limit(queue.borrowing_limit);
    body["keptBack"] = gpus_json(queue.keeps);
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
    body["claimed"] = gpus_json(queue.claimed);
    body["entitled"] = gpus_json(queue.entitled);
    body["share"] = queue.share;
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
    body.update({{"dueAt", format_time(turn.due_at)},
                 {"dueTimes", turn.due_times},
                 {"beginBy", format_time(turn.begin_by)},
                 {"soonerFrom", format_time(turn.sooner_from)},
                 {"soonerUntil", format_time(turn.sooner_until)}});
    body["runTime"] = Json{};
    if (turn.run_time) {
        body["runTime"] = {{"ms", turn.run_time->time.ms()},
                           {"isLeft", turn.run_time->is_left},
                           {"isTold", turn.run_time->is_told},
                           {"gpus", gpus_json(turn.run_time->gpus)},
                           {"gpuExponentPercent", turn.run_time->gpu_exponent_percent},
                           {"halvedEveryMs", turn.run_time->halved_every.ms()}};
    }
    body["ahead"] = {{"count", turn.ahead_count}, {"jobs", Json::array()}};
    for (const ObjectKey& key : turn.ahead) {
        body["ahead"]["jobs"].push_back(
            {{"namespace", key.namespace_name}, {"jobId", shown_name(key)}});
    }
    body["tenant"] = {{"name", turn.tenant},
                      {"share", turn.tenant_share},
                      {"lately", turn.tenant_lately},
                      {"weight", turn.tenant_weight},
                      {"held", gpus_json(turn.tenant_held)},
                      {"leaving", gpus_json(turn.tenant_leaving)},
                      {"quota", turn.tenant_quota ? gpus_json(*turn.tenant_quota) : Json{}}};
    body["queues"] = Json::array();
    for (const TurnView::Level& level : turn.levels) {
        body["queues"].push_back({{"queue", level.queue},
                                  {"order", order_name(level.order)},
                                  {"priority", level.priority},
                                  {"guaranteed", gpus_json(level.guaranteed)},
                                  {"guaranteeHolds", !level.is_beyond_guarantee},
                                  {"held", gpus_json(level.held)},
                                  {"leaving", gpus_json(level.leaving)},
                                  {"share", level.share},
                                  {"lately", level.lately},
                                  {"weight", level.weight}});
    }
    return body;
}

}  // namespace gpuctl::api
