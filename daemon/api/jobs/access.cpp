#include "daemon/api/jobs/access.hpp"

namespace gpuctl::api {
namespace {

std::string url_of(const std::string& host, std::int32_t port) {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return "http://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

const PodView* running_pod(const JobView& job) {
    for (const PodView& pod : job.pods) {
        if (pod.facts.phase == PodPhase::running && !pod.facts.address.empty()) return &pod;
    }
    return nullptr;
}

// Of the node with a running pod, else of any node with a pod.
std::string node_address(const ClusterState& state, const JobView& job, const PodView* running) {
    std::string name = running != nullptr ? running->node : "";
    for (const PodView& pod : job.pods) {
        if (name.empty()) name = pod.node;
    }
    const std::optional<NodeView> node = find_node(state, name);
    return node ? node->facts.address : "";
}

}  // namespace

bool has_service(const JobView& job) {
    return job.record != nullptr && job.record->spec.kind != JobKind::training;
}

aio::Task<std::int32_t> node_port_of(Services& services, ObjectKey job) {
    constexpr std::chrono::seconds patience{3};
    const aio::Deadline deadline = aio::Deadline::in(patience);
    const Result<std::int32_t> port = co_await services.cluster.node_port(std::move(job), deadline);
    co_return port ? *port : 0;
}

Json access_json(const ClusterState& state, const JobView& job, std::int32_t node_port) {
    if (!has_service(job)) return {};
    const ServiceSpec& service = job.record->spec.service;
    const PodView* pod = running_pod(job);
    const std::int32_t pod_port = service.target_port > 0 ? service.target_port : service.port;
    Json access;
    Json& at_pod = access["podIpAccess"];
    at_pod["podIp"] = pod != nullptr ? Json(pod->facts.address) : Json{};
    at_pod["port"] = pod_port;
    at_pod["url"] = pod != nullptr ? Json(url_of(pod->facts.address, pod_port)) : Json{};
    const std::string host =
        "svc-" + job.key.name + "." + job.key.namespace_name + ".svc.cluster.local";
    access["serviceAccess"] = {
        {"host", host}, {"port", service.port}, {"url", url_of(host, service.port)}};
    const std::string node = node_address(state, job, pod);
    Json& at_node = access["nodePortAccess"];
    at_node["nodeIp"] = node.empty() ? Json{} : Json(node);
    at_node["nodePort"] = node_port > 0 ? Json(node_port) : Json{};
    at_node["url"] = node_port > 0 && !node.empty() ? Json(url_of(node, node_port)) : Json{};
    return access;
}

}  // namespace gpuctl::api
