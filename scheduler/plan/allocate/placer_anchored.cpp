// One pod of a job with topology rules: next to the other pods of the job, or apart from them
// (docs/adr/0019).

#include "scheduler/plan/allocate/placer.hpp"

namespace gpuctl {

bool Placer::keeps_topology(const ClusterState& state, PodId pod, NodeId node) {
    const std::string& model = state.node(node).facts.gpu_model;
    if (!is_model_among(state.gangs.models_of_gang(pod), model)) return false;
    wish_ = state.shape_of(pod).topology;
    if (!wish_.any()) return true;
    const Capacity& capacity = state.nodes.capacity();
    state.gangs.read_anchors(state.job(state.pod(pod).job), anchors_);
    chosen_.clear();
    const TopologyLevel level = wish_.required;
    const bool is_near_anchors =
        level == TopologyLevel::none || !has_anchor_in(capacity, level) ||
        is_anchored(capacity, level, capacity.domains().of(level, node.value()));
    return is_near_anchors && !is_taken(capacity, node.value());
}

Placer::Spot Placer::best_near_anchors(const ClusterState& state, const Capacity& capacity,
                                       PoolId pool, PodId pod) {
    const ShapeId id = state.pod(pod).shape;
    const Spot anywhere = best(state, capacity, pool, id);
    if (anchors_.empty() || !anywhere.node.exists()) return anywhere;
    const TopologyLevel level =
        wish_.required != TopologyLevel::none ? wish_.required : wish_.preferred;
    const bool has_company = level != TopologyLevel::none && has_anchor_in(capacity, level);
    const auto is_near_anchors = [&](std::uint32_t slot) {
        return is_anchored(capacity, level, capacity.domains().of(level, slot));
    };
    const auto is_right = [&](std::uint32_t slot, bool near_anchors) {
        return !is_taken(capacity, slot) && (!near_anchors || is_near_anchors(slot));
    };
    if (is_right(anywhere.node.value(), has_company)) return anywhere;
    const Shape& shape = state.shape_of(id);
    const NodeSet& eligible = allowed(state, shape);
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (const bool near_anchors : {true, false}) {
        if (near_anchors && !has_company) continue;
        if (!near_anchors && has_company && wish_.required != TopologyLevel::none) break;
        std::int64_t least = Fragmentation::kDoesNotFit;
        NodeId node;
        for (const std::uint32_t slot : nodes.common(eligible)) {
            if (!is_right(slot, near_anchors) || is_avoided(state, slot)) continue;
            const std::int64_t cost = fragmentation_.cost(capacity, pool, slot, shape);
            if (cost >= least) continue;
            least = cost;
            node = NodeId{slot};
        }
        if (node.exists()) return {node, fragmentation_.device_for(capacity, node.value(), shape)};
    }
    return {};
}

}  // namespace gpuctl
