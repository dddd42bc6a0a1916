#include "scheduler/plan/preempt/units_by_node.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gpuctl {
namespace {

// Calls visit(slot, position) for each node of each unit once.
template <typename Visit>
void visit_nodes(const ClusterState& state, const Units& units, const Visit& visit) {
    std::vector<std::uint32_t> seen(state.nodes.node_slots(),
                                    0);  // position + 1 of the last unit there
    for (std::uint32_t position = 0; position < units.size(); ++position) {
        for (const PodId pod : units[position]->pods) {
            const std::uint32_t slot = state.pod(pod).node.value();
            if (std::exchange(seen[slot], position + 1) != position + 1) visit(slot, position);
        }
    }
}

}  // namespace

std::int64_t freed(const ClusterState& state, const EvictionUnit& unit, NodeId node,
                   Column column) {
    const bool has_counterpart = state.nodes.capacity().has_counterpart_column(column);
    std::int64_t sum = 0;
    for (const PodId id : unit.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.node != node) continue;
        for (const Need& held : state.shape_of(pod).needs) {
            if (held.column == column) {
                sum += held.amount;
            } else if (has_counterpart) {
                sum += state.nodes.capacity().most_left_by(held, column);
            }
        }
    }
    return sum;
}

std::set<std::int32_t> devices_of(const ClusterState& state, const Units& units, NodeId node) {
    std::set<std::int32_t> out;
    if (!state.nodes.capacity().has_parts()) return out;
    for (const EvictionUnit* unit : units) {
        for (const PodId id : unit->pods) {
            const PodRow& pod = state.pod(id);
            if (pod.node == node && pod.gpu_device != kNoDevice) out.insert(pod.gpu_device);
        }
    }
    return out;
}

bool is_on_device(const ClusterState& state, const EvictionUnit& unit, NodeId node,
                  std::int32_t device) {
    return std::any_of(unit.pods.begin(), unit.pods.end(), [&](PodId id) {
        return state.pod(id).node == node && state.pod(id).gpu_device == device;
    });
}

UnitsByNode::UnitsByNode(const ClusterState& state, const Units& units) : units_(units) {
    first_.assign(state.nodes.node_slots() + 1, 0);
    visit_nodes(state, units, [this](std::uint32_t slot, std::uint32_t) { ++first_[slot + 1]; });
    for (std::uint32_t slot = 0; slot + 1 < first_.size(); ++slot) {
        if (first_[slot + 1] > 0) nodes_.push_back(NodeId{slot});
        first_[slot + 1] += first_[slot];
    }
    positions_.resize(first_.back());
    std::vector<std::uint32_t> next = first_;
    visit_nodes(state, units, [&](std::uint32_t slot, std::uint32_t position) {
        positions_[next[slot]++] = position;
    });
}

Units UnitsByNode::with_those_before(NodeId node) const {
    std::map<JobId, std::uint32_t> last_in_order;
    Units here;
    for (const std::uint32_t position : on(node)) {
        here.push_back(units_[position]);
        if (units_[position]->in_order) last_in_order[units_[position]->job] = position;
    }
    if (last_in_order.empty()) return here;
    const std::set<const EvictionUnit*> on_node{here.begin(), here.end()};
    here.clear();
    for (std::uint32_t position = 0; position < units_.size(); ++position) {
        const EvictionUnit* unit = units_[position];
        const auto row = unit->in_order ? last_in_order.find(unit->job) : last_in_order.end();
        const bool goes_along = row != last_in_order.end() && position < row->second;
        if (goes_along || on_node.contains(unit)) here.push_back(unit);
    }
    return here;
}

}  // namespace gpuctl
