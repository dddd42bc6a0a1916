// Resources whose devices are allocated one by one instead of counted (dynamic resource allocation,
// DRA: a DeviceClass with an `extendedResourceName`). Nodes do not show such a resource as
// allocatable. A pod that requests one which no node of its pool counts is held, with the name of
// the class: more nodes would not help.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

bool asks_for(const Resources& request, std::string_view resource) {
    return std::any_of(request.gpus.begin(), request.gpus.end(),
                       [&](const GpuAmount& of) { return of.resource == resource; }) ||
           std::any_of(request.extended.begin(), request.extended.end(),
                       [&](const ExtendedAmount& of) { return of.resource == resource; });
}

bool is_counted_in(const ClusterState& state, PoolId pool, const std::string& resource) {
    return state.nodes.outside().counted.contains({pool, resource});
}

}  // namespace

std::string device_class_needed(const ClusterState& state, const JobRow& job, const PodFacts& pod) {
    const auto& classes = state.nodes.outside().device_classes;
    if (classes.empty() || !job.pool.exists() || state.pool(job.pool).nodes == 0) return "";
    for (const auto& [name, resource] : classes) {
        if (!asks_for(pod.request, resource) || is_counted_in(state, job.pool, resource)) continue;
        return resource + " of device class " + name + " (dynamic resource allocation)";
    }
    return "";
}

std::vector<bool> classes_counted_in(const ClusterState& state, PoolId pool) {
    std::vector<bool> counted;
    for (const auto& [name, resource] : state.nodes.outside().device_classes) {
        counted.push_back(is_counted_in(state, pool, resource));
    }
    return counted;
}

void Outside::note_node(PoolId pool, const NodeFacts& node, std::int64_t sign) {
    std::set<std::string> resources;
    for (const GpuAmount& of : node.allocatable.gpus) resources.insert(of.resource);
    for (const ExtendedAmount& of : node.allocatable.extended) resources.insert(of.resource);
    for (const std::string& resource : resources) {
        const std::pair key{pool, resource};
        if ((counted[key] += sign) == 0) counted.erase(key);
    }
}

void Nodes::on(const DeviceClassObserved& event, EffectList&) {
    const auto known = outside_.device_classes.find(event.name);
    const bool is_known = known != outside_.device_classes.end();
    if (event.resource == (is_known ? known->second : "")) return;
    if (event.resource.empty()) {
        outside_.device_classes.erase(known);
    } else {
        outside_.device_classes[event.name] = event.resource;
    }
    state_.jobs.mark_all_dirty();
}

void Nodes::on(const DeviceClassRemoved& event, EffectList&) {
    if (outside_.device_classes.erase(event.name) > 0) state_.jobs.mark_all_dirty();
}

}  // namespace gpuctl
