#pragma once
// Pools, their queues as a tree, and tenants: policy, limits, reservations, revision counters.
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
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class QueueTree {
public:
    explicit QueueTree(ClusterState& state) : state_(state) {}

    void look_again(QueueId queue, Instant at);  // its jobs may stop somebody from then on
    void note_demand();  // once those are in line: whose guarantees hold in this Plan (demand.cpp)
    [[nodiscard]] std::vector<QueueId> with_new_demand() const;  // since then
    void promise(PoolId pool, HeadReservation promise);          // a default one: to nobody
    void keep_limits(PoolId pool, HeadReservation of);  // somebody behind it was refused for that
    bool keep_limits_as(PoolId pool,
                        std::vector<HeadReservation> kept);  // all of them; true: it is news
    void note_limits_moved(PoolId pool) { ++pools_[pool.value()].reservations.revision; }
    [[nodiscard]] std::size_t pools() const { return pools_.size(); }
    [[nodiscard]] const ByName<PoolId>& pools_by_name() const { return pool_ids_; }
    [[nodiscard]] bool pool_exists(PoolId id) const;
    [[nodiscard]] PoolId find_pool(std::string_view name) const;  // existing ones only
    [[nodiscard]] QueueId find_queue(PoolId pool, std::string_view name) const;
    [[nodiscard]] QueueId system_queue(PoolId pool) const;
    [[nodiscard]] std::optional<GpuMilli> pool_quota(TenantId tenant, PoolId pool) const;
    [[nodiscard]] GpuMilli held_in_pool(TenantId tenant, PoolId pool) const;
    // "research/llm": the queue with those above it.
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

    // For the other parts.
    std::vector<PoolRow>& pool_rows() { return pools_; }
    [[nodiscard]] const std::vector<PoolRow>& pool_rows() const { return pools_; }
    ByName<PoolId>& pool_ids() { return pool_ids_; }
    [[nodiscard]] const ByName<PoolId>& pool_ids() const { return pool_ids_; }
    std::vector<QueueRow>& queue_rows() { return queues_; }
    [[nodiscard]] const std::vector<QueueRow>& queue_rows() const { return queues_; }
    std::vector<TenantRow>& tenant_rows() { return tenants_; }
    [[nodiscard]] const std::vector<TenantRow>& tenant_rows() const { return tenants_; }
    Instant& look_again_next() { return look_again_next_; }
    [[nodiscard]] const Instant& look_again_next() const { return look_again_next_; }

private:
    void sum_up_models();
    // queue tree and usage (queue_tree.cpp, usage_clock.cpp)
    void rebuild_tree();
    void link_queues();
    void sum_up(QueueId queue);
    static void apply_queue_policy(QueueRow& row, const QueuePolicy& asked);
    void apply_tenant_policy(TenantRow& row) const;

    ClusterState& state_;
    std::vector<PoolRow> pools_;
    ByName<PoolId> pool_ids_;
    std::vector<QueueRow> queues_;
    std::map<std::pair<PoolId, std::string>, QueueId> queue_ids_;
    std::vector<TenantRow> tenants_;
    TextMap<TenantId> tenant_ids_;
    Instant look_again_next_;  // the earliest of all queues
};

}  // namespace gpuctl
