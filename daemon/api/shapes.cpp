#include "daemon/api/shapes.hpp"

#include "daemon/api/reply.hpp"
#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/model/quantity.hpp"

namespace gpuctl::api {
namespace {

constexpr const char* kNotAvailable = "N/A";

std::string ready_of(const PodView& pod) {
    if (pod.standing == PodStanding::waiting || pod.standing == PodStanding::assumed) return "0/0";
    return pod.facts.phase == PodPhase::running && pod_status(pod) == "Running" ? "1/1" : "0/1";
}

std::string ready_of(const JobView& job) {
    const std::string least = job.ranks_max == 0 ? "" : std::to_string(job.ranks_min) + "-";
    const std::int64_t most = job.ranks_max == 0 ? job.pods_wanted : job.ranks_max;
    return std::to_string(job.pods_running) + "/" + least + std::to_string(most);
}

std::string priority_of(const JobView& job) {
    return job.record != nullptr ? std::string{to_string(job.record->spec.priority)}
                                 : std::to_string(job.priority);
}

std::string gpu_type_of(const JobView& job) {
    if (job.record != nullptr) return gpu_model_of(job.record->spec);
    return job.pods.empty() ? std::string{} : job.pods.front().facts.rules.gpu_model;
}

Json pod_json(const PodView& pod) {
    Json body;
    body["name"] = pod.facts.key.name;
    body["uid"] = pod.facts.uid;
    body["status"] = pod_status(pod);
    body["ready"] = ready_of(pod);
    body["restarts"] = pod.facts.restarts;
    body["node"] = pod.node.empty() ? kNotAvailable : pod.node;
    body["rank"] = pod.facts.rank < 0 ? Json{} : Json(pod.facts.rank);
    body["gpu"] = gpus_json(gpus_total(pod.facts.request));
    body["createdAt"] = format_time(pod.facts.created_at);
    body["startedAt"] = format_time(pod.facts.started_at);
    body["finishedAt"] = format_time(pod.facts.finished_at);
    return body;
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

void add_common(Json& body, const JobView& job, Instant now) {
    body["pool"] = job.pool;
    body["queue"] = job.queue;
    body["priority"] = priority_of(job);
    body["gpu"] = gpus_json(job.gpus_per_pod);
    body["gpuType"] = gpu_type_of(job);
    body["reason"] = job.waiting ? std::string{to_string(job.waiting->reason)} : std::string{};
    body["position"] = job.position;
    body["estimatedStart"] = start_json(job);
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

}  // namespace

Json start_json(const JobView& job) {
    if (!job.start) return {};
    const auto moment = [](Instant at) { return at.happened() ? Json(format_time(at)) : Json{}; };
    Json body;
    body["earliest"] = moment(job.start->earliest);
    body["likely"] = moment(job.start->likely);
    body["latest"] = moment(job.start->latest);
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
    if (!nodes.empty()) body["node"] = nodes;
    body["ip"] = kNotAvailable;
    add_common(body, job, now);
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
    body["uid"] = job.record != nullptr ? job.record->uid : "";
    body["priorityValue"] = job.priority;
    body["finishedAt"] = format_time(job.finished_at);
    body["gang"] = job.gang;
    body["ranksMin"] = job.ranks_min;
    body["size"] = job.size;
    body["podsWanted"] = job.pods_wanted;
    body["podsRunning"] = job.pods_running;
    body["resources"] = resources_json(job);
    body["waiting"] = job.waiting ? explanation_json(*job.waiting) : Json{};
    body["pods"] = Json::array();
    Json names = Json::array();
    for (const PodView& pod : job.pods) {
        body["pods"].push_back(pod_json(pod));
        names.push_back(pod.facts.key.name);
    }
    body["k8sResources"] = {{"jobName", shown_name(job.key)}, {"pods", std::move(names)}};
    body["events"] = events_json(events, now);
    body["yamlContent"] = job.record != nullptr ? job.record->source : "";
    return body;
}

namespace {

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

}  // namespace

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
    body["held"] = gpus_json(queue.held);
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
    body.update({{"dueAt", format_time(turn.due_at)}, {"beginBy", format_time(turn.begin_by)}});
    body["tenant"] = {{"name", turn.tenant},
                      {"share", turn.tenant_share},
                      {"weight", turn.tenant_weight},
                      {"held", gpus_json(turn.tenant_held)},
                      {"quota", turn.tenant_quota ? gpus_json(*turn.tenant_quota) : Json{}}};
    body["queues"] = Json::array();
    for (const TurnView::Level& level : turn.levels) {
        body["queues"].push_back({{"queue", level.queue},
                                  {"order", order_name(level.order)},
                                  {"priority", level.priority},
                                  {"guaranteed", gpus_json(level.guaranteed)},
                                  {"held", gpus_json(level.held)},
                                  {"share", level.share},
                                  {"weight", level.weight}});
    }
    return body;
}

Json pool_json(const PoolView& pool) {
    Json body;
    body["name"] = pool.name;
    body["description"] = pool.description;
    body["status"] = pool.nodes.empty() ? "empty" : "active";
    body["nodes"] = pool.nodes;
    body["nodeCount"] = pool.nodes.size();
    body["gpuTotal"] = gpus_json(pool.gpus_total);
    body["gpuUsed"] = gpus_json(pool.gpus_used);
    body["gpuFree"] = gpus_json(pool.gpus_free);
    body["gpuExcess"] = gpus_json(pool.gpus_excess);
    body["gpuFreeLargestOnANode"] = gpus_json(pool.gpus_free_largest_on_a_node);
    body["gpuType"] = Json::object();
    for (const auto& [model, count] : pool.gpu_models) body["gpuType"][model] = count;
    body["queues"] = Json::array();
    for (const QueueView& queue : pool.queues) body["queues"].push_back(queue_json(queue));
    return body;
}

std::string node_status(const NodeFacts& node) {
    if (!node.ready) return "faulty";
    return node.unschedulable ? "maintaining" : "active";
}

namespace {

// Slices of GPUs that their administrator cut, by name; whole GPUs are not among them.
Json slices_json(const NodeView& node) {
    Json slices = Json::array();
    for (const GpuAmount& gpu : node.facts.allocatable.gpus) {
        if (!is_mig_resource(gpu.resource)) continue;
        GpuMilli used;
        for (const GpuAmount& of : node.used.gpus) {
            if (of.resource == gpu.resource) used = of.amount;
        }
        slices.push_back({{"name", std::string{mig_name(gpu.resource)}},
                          {"total", whole_gpus_floor(gpu.amount)},
                          {"used", whole_gpus_floor(used)},
                          {"free", whole_gpus_floor(std::max(gpu.amount - used, GpuMilli{}))}});
    }
    return slices;
}

// Whole ones: what a job that asks for GPUs can have.
GpuMilli whole_ones(const std::vector<GpuAmount>& gpus) {
    GpuMilli sum;
    for (const GpuAmount& gpu : gpus) {
        if (!is_mig_resource(gpu.resource)) sum += gpu.amount;
    }
    return sum;
}

}  // namespace

Json node_row(const NodeView& node) {
    const GpuMilli total = whole_ones(node.facts.allocatable.gpus);
    const GpuMilli used = whole_ones(node.used.gpus);
    Json body;
    body["nodeName"] = node.facts.name;
    body["name"] = node.facts.name;
    body["status"] = node_status(node.facts);
    body["gpuTotal"] = gpus_json(total);
    body["gpuUsed"] = gpus_json(used);
    body["gpuFree"] = gpus_json(std::max(total - used, GpuMilli{0}));
    body["slices"] = slices_json(node);
    body["gpuType"] = node.facts.gpu_model;
    body["topology"] = Json::object();
    for (const TopologyLevel level :
         {TopologyLevel::nvlink, TopologyLevel::rack, TopologyLevel::block}) {
        const std::string& name = node.facts.topology.of(level);
        if (!name.empty()) body["topology"][std::string{to_string(level)}] = name;
    }
    body["ip"] = node.facts.address.empty() ? kNotAvailable : node.facts.address;
    body["pool"] = node.facts.pool;
    body["boundPools"] = Json::array({node.facts.pool});
    body["cpu"] = format_cpu(node.facts.allocatable.cpu);
    body["memory"] = format_bytes(node.facts.allocatable.memory);
    body["createdAt"] = format_time(node.facts.created_at);
    return body;
}

namespace {

// "2 GPUs, 4 CPU and 1 pod slot more than it offers"; empty when all fits.
std::string excess_sentence(const NodeView& node) {
    std::vector<std::string> parts;
    for (const GpuAmount& of : node.excess.gpus) {
        parts.push_back(gpus_json(of.amount).dump() + " of " + of.resource);
    }
    if (node.excess.cpu > CpuMilli{}) parts.push_back(format_cpu(node.excess.cpu) + " CPU");
    if (node.excess.memory > Bytes{}) parts.push_back(format_bytes(node.excess.memory) + " memory");
    if (node.excess.pods > 0) parts.push_back(std::to_string(node.excess.pods) + " pod slots");
    for (const ExtendedAmount& of : node.excess.extended) {
        parts.push_back(std::to_string(of.amount) + " of " + of.resource);
    }
    if (parts.empty()) return {};
    std::string text = "its pods ask for ";
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
        text += parts[i];
    }
    return text +
           " more than it offers: other schedulers or static pods put them there, or the "
           "node shrank; gpuctl adds none that needs these until pods have left";
}

}  // namespace

Json node_detail(const NodeView& node, Instant now) {
    Json body = node_row(node);
    body["excess"] = excess_sentence(node);
    body["k8sStatus"] = node.facts.ready ? "Ready" : "NotReady";
    body["unschedulable"] = node.facts.unschedulable;
    body["age"] = format_age(node.facts.created_at, now);
    Json resources;
    resources["cpuTotal"] = format_cpu(node.facts.allocatable.cpu);
    resources["cpuUsed"] = format_cpu(node.used.cpu);
    resources["memoryTotal"] = format_bytes(node.facts.allocatable.memory);
    resources["memoryUsed"] = format_bytes(node.used.memory);
    resources["podsTotal"] = node.facts.allocatable.pods;
    resources["podsUsed"] = node.used.pods;
    resources["gpuTotal"] = body["gpuTotal"];
    resources["gpuUsed"] = body["gpuUsed"];
    resources["gpuFree"] = body["gpuFree"];
    body["resources"] = std::move(resources);
    body["labels"] = Json::array();
    for (const auto& [key, value] : node.facts.labels) {
        body["labels"].push_back({{"key", key}, {"value", value}});
    }
    body["taints"] = Json::array();
    for (const Taint& taint : node.facts.taints) {
        constexpr const char* effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
        body["taints"].push_back({{"key", taint.key},
                                  {"value", taint.value},
                                  {"effect", effects[static_cast<std::size_t>(taint.effect)]}});
    }
    body["runningJobs"] = Json::array();
    for (const PodView& pod : node.pods) {
        Json& entry = body["runningJobs"].emplace_back(pod_json(pod));
        entry["namespace"] = pod.facts.key.namespace_name;
        entry["job"] = pod.facts.job;
        entry["ours"] = pod.facts.ours;
    }
    return body;
}

}  // namespace gpuctl::api
