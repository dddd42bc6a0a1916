#pragma once
// Node rows, their pools and topology, and their free amounts (Capacity).
//
// Owner, thread: ClusterState's.

#include <set>
#include <string_view>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/nodes/node_table.hpp"
#include "scheduler/state/nodes/outside.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class Bindings;
class ClusterState;
class Commit;
class Pods;

class Nodes {
public:
    explicit Nodes(ClusterState& state) : state_(state) {}

    [[nodiscard]] const Capacity& capacity() const { return capacity_; }
    // Pods occupies and releases; Bindings and searches try changes and undo them.
    Capacity& capacity(Key<Pods>) { return capacity_; }
    TrialCapacity capacity(Key<Bindings>) { return capacity_; }
    TrialCapacity capacity(Key<Commit>) { return capacity_; }
    void reserve_pod_slots(std::int64_t slots) { capacity_.reserve_pod_slots(slots); }
    [[nodiscard]] std::size_t node_slots() const { return nodes_.size(); }
    [[nodiscard]] const ByName<NodeId>& nodes_by_name() const { return node_ids_; }
    [[nodiscard]] const Outside& outside() const { return outside_; }
    [[nodiscard]] NodeId find_node(std::string_view name) const;
    // Nodes that changed, oldest first, for caches of eligibility: position n is valid while
    // `eligibility_epoch` stays the same.
    [[nodiscard]] const std::vector<std::uint32_t>& eligibility_log() const {
        return eligibility_log_;
    }
    [[nodiscard]] std::uint64_t eligibility_epoch() const { return eligibility_epoch_; }
    void on(const NodeObserved& event, EffectList& effects);
    void on(const NodeRemoved& event, EffectList& effects);
    void on(const DeviceClassObserved& event, EffectList& effects);
    void on(const DeviceClassRemoved& event, EffectList& effects);
    NodeId node_named(std::string_view name);
    void forget_node_if_unused(NodeId id);
    void note_eligibility_change(NodeId id);
    void forget_eligibility();
    void note_pod(const PodFacts& pod, PodId id, bool is_there) {
        outside_.note_pod(pod, id, is_there);
    }
    void note_counted(PoolId pool, const NodeFacts& node, std::int64_t sign) {
        outside_.note_node(pool, node, sign);
    }
    void set_gang_note(const ObjectKey& gang, const GangNote& note);  // an empty note removes it

    NodeTable& rows() { return nodes_; }
    [[nodiscard]] const NodeTable& rows() const { return nodes_; }
    [[nodiscard]] const ByName<NodeId>& node_ids() const { return node_ids_; }

    // --- from an image ---
    void restore_outside(std::map<ObjectKey, GangNote> notes,
                         std::map<std::string, std::string> device_classes, Key<StateReader>);
    void restore_node(std::uint32_t slot, bool is_known, NodeFacts facts, Key<StateReader>);

private:
    void place_in_pool(NodeId id);
    void place_in_topology(NodeId id);
    void note_quotas_on(const NodeRow& row);

    ClusterState& state_;
    NodeTable nodes_;
    std::set<std::uint32_t> node_slots_vacant_;  // the lowest is used first
    ByName<NodeId> node_ids_;
    Outside outside_;
    Capacity capacity_;
    std::vector<std::uint32_t> eligibility_log_;
    std::uint64_t eligibility_epoch_ = 1;
};

}  // namespace gpuctl
