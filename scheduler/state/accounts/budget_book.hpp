#pragma once
// The budgets of the policy, each with the time spent: by jobs of a queue and of the queues below
// it, or by jobs of a namespace in one pool. limits.hpp and explanations read them.
//
// Lifecycle: made from every new policy; a budget with an unchanged period keeps what was spent.
// Owner, thread: ClusterState's.

#include <map>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/queue/spending.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;
struct BudgetImage;

struct Budget {
    BudgetPolicy policy;
    Spending spending;
    Instant look_again_at;  // when a refused job may begin; never: no job waits for it
};

class BudgetBook {
public:
    [[nodiscard]] bool empty() const { return queues_.empty() && tenants_.empty(); }
    [[nodiscard]] const Budget* of(QueueId queue) const;
    [[nodiscard]] const Budget* of(TenantId tenant, PoolId pool) const;
    [[nodiscard]] const Budget& of(const JobRow& job, const LimitHit& hit) const;
    // The time from which the rest of the budget is enough for the refused job, if nothing else
    // changes and all nominated pods begin now.
    [[nodiscard]] Instant suffices_from(const JobRow& job, const LimitHit& hit, Instant now) const;
    // The next end of a period or look_again_at; never: there is no budget.
    [[nodiscard]] Instant turns_at() const { return turns_at_; }
    using OfQueues = std::map<QueueId, Budget>;
    using OfTenants = std::map<std::pair<TenantId, PoolId>, Budget>;
    [[nodiscard]] const OfQueues& queues() const { return queues_; }
    [[nodiscard]] const OfTenants& tenants() const { return tenants_; }
    // As of the last event: reads since then change nothing.
    [[nodiscard]] std::vector<BudgetImage> image(const ClusterState& state, Instant now) const;

    // Adds a budget of the policy; the ids are the state's.
    void add(QueueId queue, const BudgetPolicy& policy, const BudgetBook& before, Instant now);
    void add(TenantId tenant, PoolId pool, const BudgetPolicy& policy, const BudgetBook& before,
             Instant now);
    // The pod begins (sign 1) or ends (sign -1) to hold GPUs, until `end` by its limit; or its room
    // is nominated (sign 1) or no longer nominated (sign -1).
    void count_pod(const ClusterState& state, const PodRow& pod, Instant end, std::int64_t sign);
    // Commits what the job's nominated pods will use until their limit (sign 1), or withdraws it.
    // False: there is nothing to commit.
    bool count_nominations(const ClusterState& state, const JobRow& job, std::int64_t sign);
    // The budget refused the job: records when it may no longer do so.
    void await(const JobRow& job, const LimitHit& hit, Instant now);
    // False: an image is damaged.
    bool restore(const ClusterState& state, const std::vector<BudgetImage>& images);
    // Calls on_queue(id) and on_tenant(id) for budgets whose period is over or whose look_again_at
    // has passed.
    template <typename OnQueue, typename OnTenant>
    void turn(Instant now, OnQueue on_queue, OnTenant on_tenant) {
        for (auto& [id, budget] : queues_) {
            if (turn(budget, now)) on_queue(id);
        }
        for (auto& [id, budget] : tenants_) {
            if (turn(budget, now)) on_tenant(id.first);
        }
        find_next_turn();
    }

private:
    static bool turn(Budget& budget, Instant now);
    void find_next_turn();

    OfQueues queues_;
    OfTenants tenants_;
    Instant turns_at_;
};

}  // namespace gpuctl
