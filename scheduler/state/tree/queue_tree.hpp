#pragma once
// Pools, their trees of queues, and tenants: policy, limits, reservations, revision counters.
//
// Owner, thread: ClusterState's.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/tree/tree_tables.hpp"

namespace gpuctl {

class ClusterState;

class QueueTree {
public:
    explicit QueueTree(ClusterState& state) : state_(state) {}

    void look_again(QueueId queue, Instant at);  // the queue's jobs may preempt from then on
    // when all waiting jobs are in their queues: which guarantees hold in this Plan (demand.cpp)
    void note_demand();
    [[nodiscard]] std::vector<QueueId> with_new_demand() const;  // since then
    void set_head_reservation(PoolId pool,
                              HeadReservation head_reservation);  // an empty one: for no job
    void keep_quota_reservation(PoolId pool,
                                // a job after the head was refused because of it
                                HeadReservation of);
    bool set_quota_reservations(
        PoolId pool,
        std::vector<HeadReservation> kept);  // all of them; true: they have changed
    void note_limits_moved(PoolId pool) { ++pools_.base(pool, {}).reservations.revision; }
    void forget_reservations(JobId job);
    [[nodiscard]] std::size_t pools() const { return pools_.size(); }
    [[nodiscard]] const ByName<PoolId>& pools_by_name() const { return pool_ids_; }
    [[nodiscard]] bool pool_exists(PoolId id) const;
    [[nodiscard]] PoolId find_pool(std::string_view name) const;  // an existing pool
    [[nodiscard]] QueueId find_queue(PoolId pool, std::string_view name) const;
    [[nodiscard]] QueueId system_queue(PoolId pool) const;
    [[nodiscard]] std::optional<GpuMilli> pool_quota(TenantId tenant, PoolId pool) const;
    [[nodiscard]] GpuMilli held_in_pool(TenantId tenant, PoolId pool) const;
    // "research/llm": the queue and the queues above it.
    [[nodiscard]] std::string queue_path(QueueId queue) const;
    void on(const PolicyChanged& event, EffectList& effects);
    void note_gain(PoolId pool);
    void note_change(PoolId pool);
    void note_victim(QueueId queue);
    void note_longer(const PodRow& pod);
    void note_loan(PoolId pool);
    void note_ends_of_protection();
    PoolId pool_named(std::string_view name);
    QueueId queue_named(PoolId pool, std::string_view name);
    TenantId tenant_named(std::string_view name);
    void take_policy(Policy policy);
    // Counters that classes of waiting jobs watch (scheduler/state/waiting/blocks.cpp).
    void note_shrink(QueueId queue) { ++queues_.base(queue, {}).shrinks; }
    void note_shrink(TenantId tenant) { ++tenants_.base(tenant, {}).shrinks; }
    void note_termination(PoolId pool) { ++pools_.base(pool, {}).terminations; }
    void note_termination(TenantId tenant) { ++tenants_.base(tenant, {}).terminations; }
    void note_victims(PoolId pool) { ++pools_.base(pool, {}).victims; }
    void count_node(PoolId pool, std::int64_t sign) { pools_.base(pool, {}).nodes += sign; }
    // Raises the guarantee to at least the sums of its sub-queues and of its GPU models.
    void raise_guarantee(QueueId queue);
    // What the jobs of the queue hold, or have nominated, of a GPU model that the queue limits.
    void charge_model(QueueId queue, std::string_view model, GpuMilli gpus, bool is_nominated);

    PoolTable& pool_rows() { return pools_; }
    [[nodiscard]] const PoolTable& pool_rows() const { return pools_; }
    [[nodiscard]] const ByName<PoolId>& pool_ids() const { return pool_ids_; }
    QueueTable& queue_rows() { return queues_; }
    [[nodiscard]] const QueueTable& queue_rows() const { return queues_; }
    TenantTable& tenant_rows() { return tenants_; }
    [[nodiscard]] const TenantTable& tenant_rows() const { return tenants_; }
    [[nodiscard]] const Instant& look_again_next() const { return look_again_next_; }

    // --- from an image ---
    void restore_beyond_guarantee(QueueId queue, Key<StateReader>) {
        queues_.base(queue, {}).is_beyond_guarantee = true;
    }
    void restore_head(PoolId pool, HeadReservation of, Key<StateReader>) {
        pools_.base(pool, {}).reservations.head = of;
    }
    void restore_under_limits(PoolId pool, HeadReservation of, Key<StateReader>) {
        pools_.base(pool, {}).reservations.under_limits.push_back(of);
    }

private:
    // queue tree and usage (queue_tree.cpp, usage_clock.cpp)
    void rebuild_tree();
    void link_queues();
    static void apply_queue_policy(QueueBase& row, const QueuePolicy& asked);
    void apply_tenant_policy(TenantBase& row) const;
    void apply_pool_policy(const PoolPolicy& wanted);
    void clear_policy();  // of all pools and queues

    ClusterState& state_;
    PoolTable pools_;
    ByName<PoolId> pool_ids_;
    QueueTable queues_;
    std::map<std::pair<PoolId, std::string>, QueueId> queue_ids_;
    TenantTable tenants_;
    TextMap<TenantId> tenant_ids_;
    Instant look_again_next_;  // the earliest of all queues
};

}  // namespace gpuctl
