// Pools and nodes as JSON.

#include <algorithm>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::api {

namespace {

Json states_json(const GpuStates& gpus) {
    return {{"available", gpus_json(gpus.available)},
            {"allocated", gpus_json(gpus.allocated)},
            {"reserved", gpus_json(gpus.reserved)},
            {"maintenance", gpus_json(gpus.maintenance)},
            {"failed", gpus_json(gpus.failed)}};
}

// What an administrator should check; empty: nothing.
std::string pool_note(const PoolView& pool) {
    if (pool.guarantees_uncovered == GpuMilli{} || pool.nodes.empty()) return "";
    return "its queues are guaranteed " + format_gpus(pool.guarantees_uncovered) +
           " GPUs more than its nodes offer" +
           (pool.reserve > GpuMilli{}
                ? " in addition to the reserve of " + format_gpus(pool.reserve)
                : std::string{});
}

}  // namespace

Json pool_json(const PoolView& pool) {
    Json body;
    body["name"] = pool.name;
    body["description"] = pool.description;
    body["order"] = order_name(pool.order);
    const bool is_closed = pool.nodes_closed == static_cast<std::int64_t>(pool.nodes.size());
    body["status"] = pool.nodes.empty() ? "empty" : is_closed ? "maintaining" : "active";
    body["nodesClosed"] = pool.nodes_closed;
    body["nodes"] = pool.nodes;
    body["nodeCount"] = pool.nodes.size();
    body["gpuTotal"] = gpus_json(pool.gpus_total);
    body["gpuUsed"] = gpus_json(pool.gpus_used);
    body["gpuFree"] = gpus_json(pool.gpus_free);
    body["gpuExcess"] = gpus_json(pool.gpus_excess);
    body["gpuStates"] = states_json(pool.gpus);
    body["gpuReserve"] = gpus_json(pool.reserve);
    body["note"] = pool_note(pool);
    body["gpuFreeMaxPerNode"] = gpus_json(pool.gpus_free_largest_on_a_node);
    body["gpuType"] = Json::object();
    for (const auto& [model, count] : pool.gpu_models) body["gpuType"][model] = count;
    body["queues"] = Json::array();
    for (const QueueView& queue : pool.queues) body["queues"].push_back(queue_json(queue));
    body["budgets"] = Json::array();
    for (const BudgetView& budget : pool.budgets) {
        Json entry = budget_json(budget);
        entry["tenant"] = budget.tenant;
        body["budgets"].push_back(std::move(entry));
    }
    return body;
}

namespace {

std::string_view node_status(const NodeFacts& facts, bool is_closed) {
    if (!facts.ready || !facts.unhealthy.empty()) return "faulty";
    return facts.unschedulable || is_closed ? "maintaining" : "active";
}

}  // namespace

std::string_view node_status(const ClusterState& state, NodeId node) {
    const NodeRow& row = state.node(node);
    if (row.windows == 0) return node_status(row.facts, false);
    return node_status(*find_node(state, row.facts.name));
}

std::string_view node_status(const NodeView& node) {
    const bool is_closed =
        node.maintenance && node.maintenance->has_begun && !node.maintenance->is_reservation;
    return node_status(node.facts, is_closed);
}

namespace {

// What keeps work off the node, now or soon, and what it lacks; empty: nothing.
std::string node_note(const NodeView& node) {
    std::vector<std::string> parts;
    if (!node.facts.unhealthy.empty()) parts.push_back("unhealthy: " + node.facts.unhealthy);
    if (node.facts.draining) parts.push_back("drained by a user: its pods are evicted");
    if (node.facts.gpus_unhealthy > 0) {
        const std::int64_t lost = node.facts.gpus_unhealthy;
        parts.push_back(std::to_string(lost) + (lost == 1 ? " GPU" : " GPUs") + " not allocatable");
    }
    if (node.maintenance) {
        const NodeView::Maintenance& next = *node.maintenance;
        std::string text = (next.is_reservation ? "reservation " : "maintenance ") + next.name +
                           (next.has_begun ? " until " + format_time(next.end)
                                           : " from " + format_time(next.begin));
        if (next.pods_to_stay > 0) {
            text += ", " + std::to_string(next.pods_to_stay) +
                    (next.pods_to_stay == 1 ? " pod is not evicted" : " pods are not evicted");
        }
        parts.push_back(std::move(text));
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
    return text;
}

Json maintenance_json(const NodeView& node) {
    if (!node.maintenance) return nullptr;
    const NodeView::Maintenance& next = *node.maintenance;
    return {{"name", next.name},
            {"kind", next.is_reservation ? "reservation" : "maintenance"},
            {"state", next.has_begun ? "active" : "planned"},
            {"start", format_time(next.begin)},
            {"end", format_time(next.end)},
            {"podsNotEvicted", next.pods_to_stay}};
}

// Offers smaller than a GPU: slices under any resource name, and shares.
bool is_of_less(const NodeView& node, std::string_view resource) {
    return is_mig_resource(resource) || is_shared_resource(resource) ||
           share_offered(node.facts.allocatable, resource) != GpuShare{};
}

std::string name_of_less(const NodeView& node, std::string_view resource) {
    if (is_mig_resource(resource)) return std::string{mig_name(resource)};
    if (is_shared_resource(resource)) return "gpu.shared";
    const auto product = node.facts.labels.find("nvidia.com/gpu.product");
    const std::string_view profile = mig_profile_in_model(
        product == node.facts.labels.end() ? node.facts.gpu_model : product->second);
    return "mig-" + std::string{profile};
}

Json slices_json(const NodeView& node) {
    Json slices = Json::array();
    for (const GpuAmount& gpu : node.facts.allocatable.gpus) {
        if (!is_of_less(node, gpu.resource)) continue;
        GpuMilli used;
        for (const GpuAmount& of : node.used.gpus) {
            if (of.resource == gpu.resource) used = of.amount;
        }
        slices.push_back({{"name", name_of_less(node, gpu.resource)},
                          {"total", whole_gpus_floor(gpu.amount)},
                          {"used", whole_gpus_floor(used)},
                          {"free", whole_gpus_floor(std::max(gpu.amount - used, GpuMilli{}))}});
    }
    return slices;
}

// Whole GPUs: what a job that requests GPUs can use.
GpuMilli whole_ones(const NodeView& node, const std::vector<GpuAmount>& gpus) {
    GpuMilli sum;
    for (const GpuAmount& gpu : gpus) {
        if (!is_of_less(node, gpu.resource)) sum += gpu.amount;
    }
    return sum;
}

}  // namespace

Json node_row(const NodeView& node) {
    const GpuMilli total = whole_ones(node, node.facts.allocatable.gpus);
    const GpuMilli used = whole_ones(node, node.used.gpus);
    Json body;
    body["nodeName"] = node.facts.name;
    body["name"] = node.facts.name;
    body["status"] = node_status(node);
    body["note"] = node_note(node);
    body["gpuTotal"] = gpus_json(total);
    body["gpuUsed"] = gpus_json(used);
    body["gpuNominated"] = gpus_json(node.gpus_nominated);
    body["gpuFree"] = gpus_json(std::max(total - used - node.gpus_nominated, GpuMilli{0}));
    body["gpuStates"] = states_json(node.gpus);
    body["slices"] = slices_json(node);
    body["gpuType"] = node.facts.gpu_model;
    body["topology"] = Json::object();
    for (const TopologyLevel level :
         {TopologyLevel::nvlink, TopologyLevel::rack, TopologyLevel::block}) {
        const std::string& name = node.facts.topology.of(level);
        if (!name.empty()) body["topology"][std::string{to_string(level)}] = name;
    }
    body["ip"] = node.facts.address.empty() ? "N/A" : node.facts.address;
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
    std::string text = "its pods request ";
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
        text += parts[i];
    }
    return text +
           " more than it offers: other schedulers or static pods use it, or the node shrank; "
           "gpuctl adds no pod that needs these resources until pods have ended";
}

}  // namespace

Json gpu_details(const NodeView& node) {
    const std::int64_t offered = whole_gpus_floor(whole_ones(node, node.facts.allocatable.gpus));
    const GpuMilli in_use = whole_ones(node, node.used.gpus);
    const std::int64_t used = (in_use.value() + kGpuMilliPerGpu - 1) / kGpuMilliPerGpu;
    Json out = Json::array();
    for (std::int64_t i = 0; i < offered + node.facts.gpus_unhealthy; ++i) {
        const char* const status = i >= offered ? "failed" : i < used ? "allocated" : "available";
        out.push_back({{"gpuId", i},
                       {"type", node.facts.gpu_model},
                       {"status", status},
                       {"utilization", nullptr},
                       {"memoryUsage", nullptr}});
    }
    return out;
}

Json node_detail(const NodeView& node, Instant now) {
    Json body = node_row(node);
    body["excess"] = excess_sentence(node);
    body["k8sStatus"] = node.facts.ready ? "Ready" : "NotReady";
    body["unschedulable"] = node.facts.unschedulable;
    body["draining"] = node.facts.draining;
    body["gpuDetail"] = gpu_details(node);
    body["lastUpdatedAt"] = format_time(now);  // the state of this time
    body["unhealthy"] = node.facts.unhealthy;
    body["gpuUnhealthy"] = node.facts.gpus_unhealthy;
    body["acceptsPods"] = node.takes_work;
    body["maintenance"] = maintenance_json(node);
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
        Json entry = pod_json(pod);
        entry["namespace"] = pod.facts.key.namespace_name;
        entry["job"] = pod.facts.job;
        entry["managed"] = pod.facts.ours;
        body["runningJobs"].push_back(std::move(entry));
    }
    return body;
}

}  // namespace gpuctl::api
