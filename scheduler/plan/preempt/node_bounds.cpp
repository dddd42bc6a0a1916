#include "scheduler/plan/preempt/node_bounds.hpp"

#include <algorithm>
#include <numeric>

#include "scheduler/model/policy/preemption_cost.hpp"
#include "scheduler/plan/preempt/preempt.hpp"

namespace gpuctl {
namespace {

// The shape's need for the column that it is indexed by.
Need main_need(const Shape& shape) {
    for (const Need& need : shape.needs) {
        if (need.column == shape.index_column) return need;
    }
    return {shape.index_column, 0};
}

// A lower bound on the number of units, if each of them releases `most` at most.
std::int64_t fewest(std::int64_t missing, std::int64_t most) {
    return std::max<std::int64_t>((missing + most - 1) / most, 1);
}

}  // namespace

std::vector<NodeBound> bounds_of(const ClusterState& state, PoolId pool, const Shape& shape,
                                 const UnitsByNode& by_node, const Units& units) {
    const Need need = main_need(shape);
    std::vector<NodeBound> out;
    std::vector<std::int64_t> weights;
    for (const NodeId node : by_node.nodes()) {
        if (state.node(node).pool != pool) continue;  // pods in other pools only use a quota
        const std::int64_t missing =
            need.amount - state.nodes.capacity().usable(need.column, node.value());
        std::int64_t most = 1;
        std::int64_t sum = 0;
        weights.clear();
        for (const std::uint32_t position : by_node.on(node)) {
            const std::int64_t leaves = freed(state, *units[position], node, need.column);
            most = std::max(most, leaves);
            sum += leaves;
            weights.push_back(units[position]->weight);
        }
        if (sum < missing) continue;
        const std::int64_t count = fewest(missing, most);
        std::nth_element(weights.begin(), weights.begin() + (count - 1), weights.end());
        out.push_back({std::accumulate(weights.begin(), weights.begin() + count, std::int64_t{0}),
                       static_cast<std::size_t>(count), node});
    }
    return out;
}

std::vector<NodeBound> bounds_below(const ClusterState& state, const Shape& shape,
                                    const JobRow& job) {
    struct OfNode {
        std::int64_t least = INT64_MAX;
        std::int64_t sum = 0;
        std::int64_t most_gpus = 1;
        std::int64_t gpus = 0;
        std::int64_t pods = 0;
        bool has_gangs = false;
    };
    std::vector<OfNode> nodes(state.nodes.node_slots());
    for (const StoppablePod& pod : state.queue(job.queue).stoppable) {
        if (!preempt::is_below(pod.priority, job.priority)) continue;
        OfNode& of = nodes[pod.node.value()];
        const std::int64_t cost = lost_gpu_ms(pod, pod.gpus, state.now());
        of.least = std::min(of.least, cost);
        of.sum += cost;
        // The last fraction on a GPU releases all of it.
        const std::int64_t leaves = whole_gpus_ceil(pod.gpus) * kGpuMilliPerGpu;
        of.most_gpus = std::max(of.most_gpus, leaves);
        of.gpus += leaves;
        ++of.pods;
        of.has_gangs |= pod.is_gang;
    }
    // GPUs of other vendors count, too, which only lowers the bound. Slices are counted as shares
    // and are not comparable.
    const Need need = main_need(shape);
    const bool counts_gpus = state.nodes.capacity().kind(need.column) == ColumnKind::gpu &&
                             need.amount == shape.gpus.value();
    std::vector<NodeBound> out;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
        const OfNode& of = nodes[slot];
        if (of.pods == 0) continue;
        const std::int64_t missing =
            counts_gpus ? need.amount - state.nodes.capacity().usable(need.column, slot) : 0;
        if (of.gpus < missing) continue;
        const std::int64_t count = fewest(missing, of.most_gpus);
        const bool takes_all = count >= of.pods;
        // Pods of one gang are evicted together, so fewer units may do, at the same price or more.
        const auto units = static_cast<std::size_t>(of.has_gangs ? 1 : count);
        out.push_back({takes_all ? of.sum : of.least * count, units, NodeId{slot}});
    }
    return out;
}

}  // namespace gpuctl
