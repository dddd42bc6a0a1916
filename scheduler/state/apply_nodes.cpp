// Nodes come, change and go; pools live by them.

#include <algorithm>
#include <iterator>

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

NodeId ClusterState::node_named(std::string_view name) {
    if (const auto found = node_ids_.find(name); found != node_ids_.end()) return found->second;
    std::uint32_t slot = static_cast<std::uint32_t>(nodes_.size());
    if (!node_slots_vacant_.empty()) {
        slot = *node_slots_vacant_.begin();
        node_slots_vacant_.erase(node_slots_vacant_.begin());
    } else {
        nodes_.emplace_back();
    }
    capacity_.ensure_slot(slot);
    NodeRow& row = nodes_[slot];
    row.live = true;
    row.facts.name = std::string{name};
    node_ids_.emplace(row.facts.name, NodeId{slot});
    return NodeId{slot};
}

void ClusterState::forget_node_if_unused(NodeId id) {
    NodeRow& row = nodes_[id.value()];
    if (row.known || !row.pods.empty()) return;
    node_ids_.erase(row.facts.name);
    row = NodeRow{};
    node_slots_vacant_.insert(id.value());
}

void ClusterState::note_gain(PoolId pool) {
    if (!pool.exists()) return;
    ++pools_[pool.value()].gains;
    ++pools_[pool.value()].changes;
    idle_ = false;
}

// What is promised to the first in line is told anew when what it was made of changes.
void ClusterState::note_change(PoolId pool) {
    if (!pool.exists()) return;
    ++pools_[pool.value()].changes;
    if (pools_[pool.value()].promise.job.exists()) idle_ = false;
    // What a namespace may hold is the same in all pools.
    const bool keeps = std::any_of(pools_.begin(), pools_.end(),
                                   [](const PoolRow& row) { return !row.limits_kept.empty(); });
    if (keeps) idle_ = false;
}

// Ranks there may go now for who waits in another pool for a quota, or no longer; who leaves there
// is waited for, or no longer.
void ClusterState::note_quotas_on(const NodeRow& row) {
    if (pools_.size() == 1 || !row.pool.exists()) return;
    ++pools_[row.pool.value()].victims;
    for (const PodId pod : row.pods) {
        const JobId job = pods_[pod.value()].job;
        if (job.exists()) ++tenants_[jobs_[job.value()].tenant.value()].leaving;
    }
}

void ClusterState::note_eligibility_change(NodeId id) {
    // A log much longer than the table is slower to follow than to start anew.
    if (eligibility_log_.size() > 2 * nodes_.size() + 1024) forget_eligibility();
    eligibility_log_.push_back(id.value());
}

void ClusterState::forget_eligibility() {
    eligibility_log_.clear();
    ++eligibility_epoch_;
}

void ClusterState::place_in_pool(NodeId id) {
    NodeRow& row = nodes_[id.value()];
    const PoolId before = row.pool;
    const PoolId after = row.known ? pool_named(row.facts.pool) : PoolId::none();
    if (before == after) return;
    const bool existed = after.exists() && pool_exists(after);
    if (before.exists()) --pools_[before.value()].nodes;
    if (after.exists()) ++pools_[after.value()].nodes;
    row.pool = after;
    if (after.exists()) {
        capacity_.offer(id.value(), after);
    } else {
        capacity_.withdraw(id.value());
    }
    note_gain(before);  // no room came, but what a waiting job is told changes
    note_gain(after);
    const bool vanished = before.exists() && !pool_exists(before);
    if ((after.exists() && !existed) || vanished) resolve_all();
}

// What its pods' jobs may still add, and where, hangs on where these are.
void ClusterState::place_in_topology(NodeId id) {
    const NodeRow& row = nodes_[id.value()];
    capacity_.set_topology(id.value(), row.known ? row.facts.topology : NodeTopology{});
    for (const PodId pod : row.pods) {
        const PodRow& held = pods_[pod.value()];
        if (held.job.exists() && held.facts.rules.topology.any()) mark_dirty(held.job);
    }
}

void ClusterState::on(const NodeObserved& event, EffectList&) {
    const NodeId id = node_named(event.node.name);
    NodeRow& row = nodes_[id.value()];
    NodeFacts facts = event.node;
    if (facts.pool.empty()) facts.pool = kDefaultPool;
    if (facts.topology.host.empty()) facts.topology.host = facts.name;
    if (row.known && row.facts == facts) return;
    changes_.note(id);
    const bool rules_changed =
        !row.known || row.facts.labels != facts.labels || row.facts.taints != facts.taints ||
        row.facts.unschedulable != facts.unschedulable || row.facts.gpu_model != facts.gpu_model ||
        row.facts.pool != facts.pool || row.facts.topology != facts.topology ||
        row.facts.unhealthy != facts.unhealthy || row.facts.ready != facts.ready ||
        calls_slices_gpus(row.facts.allocatable) != calls_slices_gpus(facts.allocatable);
    const bool had_gpus = row.known && gpus_total(row.facts.allocatable) > GpuMilli{0};
    const std::string model_before = row.facts.gpu_model;
    const auto has_kept = [&](PoolId pool) {
        const ModelRoom* room =
            pool.exists() ? pools_[pool.value()].kept_of(model_before) : nullptr;
        return room != nullptr && room->offered > GpuMilli{};
    };
    const PoolId pool_before = row.known ? row.pool : PoolId::none();
    const bool had_kept = has_kept(pool_before);
    std::vector<std::string> pinned;  // pods whose pool may be another one now
    if (rules_changed) pinned = pods_that_name(*this, row.facts);
    const auto counted = [this, pool_before, &to = event.node.pool] {
        const PoolId now = find_pool(to.empty() ? kDefaultPool : std::string_view{to});
        return std::pair{classes_counted_in(*this, pool_before), classes_counted_in(*this, now)};
    };
    const auto counted_before = counted();
    if (row.known) offer_to_pool(row.pool, row.facts, -1);
    const bool model_changed = row.facts.gpu_model != facts.gpu_model;
    if (model_changed) charge_pods_of(row, -1);
    const bool moved = !row.known || row.facts.topology != facts.topology;
    const bool capacity_changed = !row.known || row.facts.allocatable != facts.allocatable;
    row.known = true;
    row.facts = std::move(facts);
    if (model_changed) charge_pods_of(row, 1);
    if (capacity_changed) {
        const bool grew = capacity_.set_allocatable(id.value(), row.facts.allocatable);
        if (grew && !planted(PlantedBug::forget_grown_nodes)) {
            note_gain(row.pool);
        } else if (row.pool.exists()) {
            note_change(row.pool);
        }
    }
    if (moved) place_in_topology(id);
    if (rules_changed) {
        if (!planted(PlantedBug::forget_changed_nodes)) note_eligibility_change(id);
        if (!planted(PlantedBug::forget_gain_on_uncordon)) note_gain(row.pool);
    }
    place_in_pool(id);
    if (rules_changed) note_quotas_on(row);
    if (rules_changed) place_in_windows(id);
    offer_to_pool(row.pool, row.facts, 1);
    // A pool without GPUs keeps none back for anybody: that limit is gone (limits.hpp).
    const bool was_last = had_gpus && pools_[row.pool.value()].offered.gpus == GpuMilli{0};
    if (was_last) note_gain(row.pool);
    if (had_kept && !has_kept(pool_before)) note_gain(pool_before);
    look_at_claims();
    if (rules_changed) {
        std::ranges::copy(pods_that_name(*this, row.facts), std::back_inserter(pinned));
        rejoin(std::move(pinned));
    }
    if (counted() != counted_before) mark_all_dirty();
}

void ClusterState::on(const NodeRemoved& event, EffectList&) {
    const NodeId id = find_node(event.name);
    if (!id.exists() || !nodes_[id.value()].known) return;
    NodeRow& row = nodes_[id.value()];
    std::vector<std::string> pinned = pods_that_name(*this, row.facts);
    const PoolId pool = row.pool;
    const std::vector<bool> counted_before = classes_counted_in(*this, pool);
    changes_.note(id);
    offer_to_pool(row.pool, row.facts, -1);
    row.known = false;
    NodeFacts nameless;
    nameless.name = row.facts.name;
    charge_pods_of(row, -1);
    row.facts = std::move(nameless);
    charge_pods_of(row, 1);
    if (!planted(PlantedBug::offer_removed_nodes)) place_in_pool(id);
    (void)capacity_.set_allocatable(id.value(), Resources{});
    place_in_topology(id);
    place_in_windows(id);
    note_eligibility_change(id);
    look_at_claims();
    forget_node_if_unused(id);
    rejoin(std::move(pinned));
    if (classes_counted_in(*this, pool) != counted_before) mark_all_dirty();
}

NodeId ClusterState::find_node(std::string_view name) const {
    const auto found = node_ids_.find(name);
    return found == node_ids_.end() ? NodeId::none() : found->second;
}

}  // namespace gpuctl
