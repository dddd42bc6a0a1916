// Nodes are added, change and are removed, and their pools with them.

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

NodeId Nodes::node_named(std::string_view name) {
    if (const auto found = node_ids_.find(name); found != node_ids_.end()) return found->second;
    std::uint32_t slot = static_cast<std::uint32_t>(nodes_.size());
    if (!node_slots_vacant_.empty()) {
        slot = *node_slots_vacant_.begin();
        node_slots_vacant_.erase(node_slots_vacant_.begin());
    } else {
        nodes_.add({});
    }
    capacity_.ensure_slot(slot);
    NodeBase& row = nodes_.base(NodeId{slot}, {});
    row.live = true;
    row.facts.name = std::string{name};
    node_ids_.emplace(row.facts.name, NodeId{slot});
    return NodeId{slot};
}

void Nodes::forget_node_if_unused(NodeId id) {
    const NodeRow& row = nodes_[id.value()];
    if (row.known || !row.pods.empty()) return;
    node_ids_.erase(row.facts.name);
    nodes_.clear(id, {});
    node_slots_vacant_.insert(id.value());
}

// The pool of the node has changed. Jobs that wait in other pools for a quota are affected: pods on
// this node may be evicted for them now, or no longer, and they wait for terminating pods on it, or
// no longer.
void Nodes::note_quotas_on(const NodeRow& row) {
    if (state_.tree.pool_rows().size() == 1 || !row.pool.exists()) return;
    state_.tree.note_victims(row.pool);
    for (const PodId pod : row.pods) {
        const JobId job = state_.pods.rows()[pod.value()].job;
        if (job.exists()) state_.tree.note_termination(state_.jobs.rows()[job.value()].tenant);
    }
}

void Nodes::note_eligibility_change(NodeId id) {
    // A log that is much longer than the table is slower to follow than a new start.
    if (eligibility_log_.size() > 2 * nodes_.size() + 1024) forget_eligibility();
    eligibility_log_.push_back(id.value());
}

void Nodes::forget_eligibility() {
    eligibility_log_.clear();
    ++eligibility_epoch_;
}

void Nodes::place_in_pool(NodeId id) {
    NodeBase& row = nodes_.base(id, {});
    const PoolId before = row.pool;
    const PoolId after = row.known ? state_.tree.pool_named(row.facts.pool) : PoolId::none();
    if (before == after) return;
    const bool existed = after.exists() && state_.tree.pool_exists(after);
    const bool moves = before.exists() && after.exists();
    if (before.exists() && !(moves && has_fault(SeededFault::count_moved_nodes_twice)))
        state_.tree.count_node(before, -1);
    if (after.exists()) state_.tree.count_node(after, 1);
    row.pool = after;
    if (after.exists()) {
        const bool stays = moves && has_fault(SeededFault::keep_moved_nodes);
        capacity_.offer(id.value(), stays ? before : after);
    } else {
        capacity_.withdraw(id.value());
    }
    state_.tree.note_gain(before);  // no room is gained, but the reasons of waiting jobs change
    state_.tree.note_gain(after);
    const bool vanished = before.exists() && !state_.tree.pool_exists(before);
    if ((after.exists() && !existed) || vanished) state_.jobs.resolve_all();
}

// The placement rules of a job's next pods depend on where its pods are.
void Nodes::place_in_topology(NodeId id) {
    const NodeRow& row = nodes_[id.value()];
    capacity_.set_topology(id.value(), row.known ? row.facts.topology : NodeTopology{});
    for (const PodId pod : row.pods) {
        const PodRow& held = state_.pods.rows()[pod.value()];
        if (held.job.exists() && held.facts.rules.topology.any()) state_.jobs.mark_dirty(held.job);
    }
}

void Nodes::on(const NodeObserved& event, EffectList&) {
    const NodeId id = node_named(event.node.name);
    const NodeRow& row = nodes_[id.value()];
    NodeFacts facts = event.node;
    if (facts.pool.empty()) facts.pool = kDefaultPool;
    if (facts.topology.host.empty()) facts.topology.host = facts.name;
    if (row.known && row.facts == facts) return;
    state_.jobs.note_change(id);
    const bool rules_changed =
        !row.known || row.facts.labels != facts.labels || row.facts.taints != facts.taints ||
        row.facts.unschedulable != facts.unschedulable || row.facts.gpu_model != facts.gpu_model ||
        row.facts.pool != facts.pool || row.facts.topology != facts.topology ||
        row.facts.unhealthy != facts.unhealthy || row.facts.ready != facts.ready ||
        row.facts.draining != facts.draining ||
        calls_slices_gpus(row.facts.allocatable) != calls_slices_gpus(facts.allocatable);
    const bool had_gpus = row.known && gpus_total(row.facts.allocatable) > GpuMilli{0};
    const std::string model_before = row.facts.gpu_model;
    const auto is_model_reserved = [&](PoolId pool) {
        const ModelRoom* room =
            pool.exists() ? state_.tree.pool_rows()[pool.value()].find_reserved_model(model_before)
                          : nullptr;
        return room != nullptr && room->offered > GpuMilli{};
    };
    const PoolId pool_before = row.known ? row.pool : PoolId::none();
    const bool was_model_reserved = is_model_reserved(pool_before);
    std::vector<std::string> pinned;  // pods whose pool may change
    if (rules_changed) pinned = pods_that_name(state_, row.facts);
    const auto counted = [this, pool_before, &to = event.node.pool] {
        const PoolId now = state_.tree.find_pool(to.empty() ? kDefaultPool : std::string_view{to});
        return std::pair{classes_counted_in(state_, pool_before), classes_counted_in(state_, now)};
    };
    const auto counted_before = counted();
    if (row.known) state_.accounts.offer_to_pool(row.pool, row.facts, -1);
    const bool model_changed = row.facts.gpu_model != facts.gpu_model;
    if (model_changed) state_.accounts.charge_pods_of(row, -1);
    const bool moved = !row.known || row.facts.topology != facts.topology;
    const bool capacity_changed = !row.known || row.facts.allocatable != facts.allocatable;
    nodes_.base(id, {}).known = true;
    nodes_.base(id, {}).facts = std::move(facts);
    if (model_changed) state_.accounts.charge_pods_of(row, 1);
    if (capacity_changed) {
        const bool grew = capacity_.set_allocatable(id.value(), row.facts.allocatable);
        if (grew && !has_fault(SeededFault::forget_grown_nodes)) {
            state_.tree.note_gain(row.pool);
        } else if (row.pool.exists()) {
            state_.tree.note_change(row.pool);
        }
    }
    if (moved) place_in_topology(id);
    if (rules_changed) {
        if (!has_fault(SeededFault::forget_changed_nodes)) note_eligibility_change(id);
        if (!has_fault(SeededFault::forget_gain_on_uncordon)) state_.tree.note_gain(row.pool);
    }
    place_in_pool(id);
    if (rules_changed) note_quotas_on(row);
    if (rules_changed) state_.maintenance.place_in_windows(id);
    state_.accounts.offer_to_pool(row.pool, row.facts, 1);
    // A pool without GPUs reserves none for any queue: its lending limit no longer applies
    // (limits.hpp).
    const bool was_last =
        had_gpus && state_.tree.pool_rows()[row.pool.value()].offered.gpus == GpuMilli{0};
    if (was_last) state_.tree.note_gain(row.pool);
    if (was_model_reserved && !is_model_reserved(pool_before)) state_.tree.note_gain(pool_before);
    state_.nominations.revisit_nominations();
    if (rules_changed) {
        std::ranges::copy(pods_that_name(state_, row.facts), std::back_inserter(pinned));
        state_.pods.rejoin(std::move(pinned));
    }
    if (counted() != counted_before) state_.jobs.mark_all_dirty();
}

void Nodes::on(const NodeRemoved& event, EffectList&) {
    const NodeId id = find_node(event.name);
    if (!id.exists() || !nodes_[id.value()].known) return;
    const NodeRow& row = nodes_[id.value()];
    std::vector<std::string> pinned = pods_that_name(state_, row.facts);
    const PoolId pool = row.pool;
    const std::vector<bool> counted_before = classes_counted_in(state_, pool);
    state_.jobs.note_change(id);
    state_.seats.lose_seats_on(id);
    state_.accounts.offer_to_pool(row.pool, row.facts, -1);
    nodes_.base(id, {}).known = false;
    NodeFacts nameless;
    nameless.name = row.facts.name;
    state_.accounts.charge_pods_of(row, -1);
    nodes_.base(id, {}).facts = std::move(nameless);
    state_.accounts.charge_pods_of(row, 1);
    if (!has_fault(SeededFault::offer_removed_nodes)) place_in_pool(id);
    (void)capacity_.set_allocatable(id.value(), Resources{});
    place_in_topology(id);
    state_.maintenance.place_in_windows(id);
    note_eligibility_change(id);
    state_.nominations.revisit_nominations();
    forget_node_if_unused(id);
    state_.pods.rejoin(std::move(pinned));
    if (classes_counted_in(state_, pool) != counted_before) state_.jobs.mark_all_dirty();
}

void Nodes::set_gang_note(const ObjectKey& gang, const GangNote& note) {
    if (note.says_nothing()) {
        outside_.gang_notes.erase(gang);
    } else {
        outside_.gang_notes[gang] = note;
    }
}

void Nodes::restore_outside(std::map<ObjectKey, GangNote> notes,
                            std::map<std::string, std::string> device_classes, Key<StateReader>) {
    outside_.gang_notes = std::move(notes);
    outside_.device_classes = std::move(device_classes);
}

void Nodes::restore_node(std::uint32_t slot, bool is_known, NodeFacts facts, Key<StateReader>) {
    while (nodes_.size() < slot) {  // gaps of removed nodes
        node_slots_vacant_.insert(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.add({});
    }
    std::set<std::uint32_t> gaps = std::exchange(node_slots_vacant_, {});
    (void)node_named(facts.name);
    node_slots_vacant_ = std::move(gaps);
    if (!is_known) return;
    EffectList none;
    on(NodeObserved{std::move(facts)}, none);
}

NodeId Nodes::find_node(std::string_view name) const {
    const auto found = node_ids_.find(name);
    return found == node_ids_.end() ? NodeId::none() : found->second;
}

}  // namespace gpuctl
