#include "scheduler/listing/pool_sums.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "scheduler/policy/filter.hpp"

namespace gpuctl {
namespace {

using ByColumn = boost::container::small_vector<std::int64_t, 16>;

// The requests of the node's pods, by column. Fractions of GPUs count in the column of whole GPUs.
// Nominated room does not count, because it is not in use yet.
ByColumn used_on(const ClusterState& state, const NodeRow& node, GpuMilli& nominated) {
    const Capacity& capacity = state.nodes.capacity();
    ByColumn used(capacity.columns(), 0);
    for (const PodId id : node.pods) {
        const PodRow& pod = state.pod(id);
        const Shape& shape = state.shape_of(pod);
        if (pod.bind.state == BindState::nominated) {
            nominated += shape.gpus;
            continue;
        }
        for (const Need& need : shape.needs) {
            if (is_host_port(need.column)) continue;  // a port number, not an amount of the node
            const bool is_part = capacity.kind(need.column) == ColumnKind::gpu_part;
            const Column column = is_part ? capacity.whole_column(need.column) : need.column;
            used[static_cast<std::size_t>(column)] += need.amount;
        }
    }
    return used;
}

GpuMilli whole(const ClusterState& state, const NodeRow& node, Column column, std::int64_t amount) {
    const std::string& resource = state.nodes.capacity().resource(column);
    return in_whole_gpus(
        {resource, GpuMilli{amount}, share_offered(node.facts.allocatable, resource)});
}

}  // namespace

void GpuStates::add(const GpuStates& other, std::int64_t times) {
    available += other.available * times;
    allocated += other.allocated * times;
    reserved += other.reserved * times;
    maintenance += other.maintenance * times;
    failed += other.failed * times;
}

GpuStates states_of(const ClusterState& state, NodeId id, GpuMilli total, GpuMilli used,
                    GpuMilli nominated) {
    const NodeRow& node = state.node(id);
    GpuStates out;
    out.allocated = used;
    out.reserved = std::min(total - used, nominated);
    const GpuMilli idle = std::max(total - used - nominated, GpuMilli{});
    if (!node.facts.ready || !node.facts.unhealthy.empty()) {
        out.failed = idle;
    } else if (node.facts.unschedulable || state.maintenance.is_closed(id)) {
        out.maintenance = idle;
    } else if ((node.windows & state.maintenance.calendar().active) != 0) {
        out.reserved += idle;
    } else {
        out.available = idle;
    }
    out.failed += whole_gpus(node.facts.gpus_unhealthy);
    return out;
}

bool takes_work(const ClusterState& state, NodeId id) {
    static const PlacementRules anything;
    return !state.maintenance.is_closed(id) &&
           first_refusal(anything, state.node(id).facts) == NodeRefusal::none;
}

NodeGlance glance_at(const ClusterState& state, NodeId id) {
    NodeGlance out;
    const NodeRow& node = state.node(id);
    if (!node.known) return out;
    out.pool = node.pool;
    out.gpu_model = node.facts.gpu_model;
    const Capacity& capacity = state.nodes.capacity();
    const ByColumn used = used_on(state, node, out.nominated);
    GpuMilli fitting;
    for (std::size_t i = 0; i < used.size(); ++i) {
        const auto column = static_cast<Column>(i);
        const std::int64_t offered = capacity.allocatable(column, id.value());
        const std::int64_t beyond = std::max<std::int64_t>(used[i] - offered, 0);
        if (beyond > 0) out.has_excess = true;
        if (capacity.kind(column) != ColumnKind::gpu) continue;
        if (offered > 0) out.total += whole(state, node, column, offered);
        if (used[i] > 0) fitting += whole(state, node, column, used[i]);
        if (beyond > 0) out.excess += whole(state, node, column, beyond);
        const std::int64_t free = capacity.free(column, id.value());
        if (free > 0) out.completely_idle += whole(state, node, column, free);
    }
    out.used = std::clamp(fitting - out.excess, GpuMilli{}, out.total);
    out.is_closed = state.maintenance.is_closed(id) || !node.facts.unhealthy.empty();
    out.takes_work = takes_work(state, id);
    if (out.takes_work) {
        out.free = std::max(out.total - out.used - out.nominated, GpuMilli{});
    } else {
        out.completely_idle = GpuMilli{};
    }
    out.states = states_of(state, id, out.total, out.used, out.nominated);
    return out;
}

void PoolSum::count(const NodeGlance& node, std::int64_t sign) {
    nodes += sign;
    if (node.has_excess) nodes_excess += sign;
    if (node.is_closed) nodes_closed += sign;
    total += node.total * sign;
    used += node.used * sign;
    free += node.free * sign;
    excess += node.excess * sign;
    states.add(node.states, sign);
    if (node.takes_work) {
        const auto at = nodes_by_idle_gpus.try_emplace(node.completely_idle).first;
        at->second += sign;
        if (at->second == 0) nodes_by_idle_gpus.erase(at);
    }
    if (node.total > GpuMilli{}) {
        const auto at = by_model.try_emplace(node.gpu_model).first;
        at->second.gpus += whole_gpus_floor(node.total) * sign;
        at->second.nodes += sign;
        if (at->second.nodes == 0) by_model.erase(at);
    }
}

GpuMilli PoolSum::largest_free() const {
    return nodes_by_idle_gpus.empty() ? GpuMilli{} : nodes_by_idle_gpus.rbegin()->first;
}

void PoolSums::put(NodeId node, NodeGlance glance) {
    if (nodes_.size() <= node.value()) nodes_.resize(node.value() + 1);
    NodeGlance& known = nodes_[node.value()];
    if (known == glance) return;
    const auto count = [this](const NodeGlance& of, std::int64_t sign) {
        if (!of.pool.exists()) return;
        if (pools_.size() <= of.pool.value()) pools_.resize(of.pool.value() + 1);
        pools_[of.pool.value()].count(of, sign);
    };
    count(known, -1);
    known = std::move(glance);
    count(known, 1);
}

const PoolSum& PoolSums::of(PoolId pool) const {
    static const PoolSum none;
    return pool.value() < pools_.size() ? pools_[pool.value()] : none;
}

}  // namespace gpuctl
