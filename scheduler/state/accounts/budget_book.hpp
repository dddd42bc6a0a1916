#pragma once
// The budgets that the policy sets, each with what was spent of it: by jobs in that queue or below
// it, or of that namespace in that pool. limits.hpp and explanations read it.
//
// Lifecycle: made from every new policy; what was spent counts on while the periods are the same.
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
    Instant look_again_at;  // a job was refused that may begin then; or never
};

class BudgetBook {
public:
    [[nodiscard]] bool empty() const { return queues_.empty() && tenants_.empty(); }
    [[nodiscard]] const Budget* of(QueueId queue) const;
    [[nodiscard]] const Budget* of(TenantId tenant, PoolId pool) const;
    [[nodiscard]] const Budget& of(const JobRow& job, const LimitHit& hit) const;
    // When what is left of it is enough for what it refused, if nothing else changes and what is
    // claimed begins now.
    [[nodiscard]] Instant suffices_from(const JobRow& job, const LimitHit& hit, Instant now) const;
    // The next end of a period, or time to look again; never: there is no budget.
    [[nodiscard]] Instant turns_at() const { return turns_at_; }
    using OfQueues = std::map<QueueId, Budget>;
    using OfTenants = std::map<std::pair<TenantId, PoolId>, Budget>;
    [[nodiscard]] const OfQueues& queues() const { return queues_; }
    [[nodiscard]] const OfTenants& tenants() const { return tenants_; }
    // Of the last event, whenever people looked since then.
    [[nodiscard]] std::vector<BudgetImage> image(const ClusterState& state, Instant now) const;

    // Those of the policy; the ids are the state's.
    void add(QueueId queue, const BudgetPolicy& policy, const BudgetBook& before, Instant now);
    void add(TenantId tenant, PoolId pool, const BudgetPolicy& policy, const BudgetBook& before,
             Instant now);
    // A pod holds GPUs from now on (sign 1) or no more, that come free at `end` by its limit; or
    // has claimed them.
    void count_pod(const ClusterState& state, const PodRow& pod, Instant end, std::int64_t sign);
    // What the job's nominated pods claim, by its limit, is committed (sign 1) or no more. False:
    // it claims nothing.
    bool count_nominations(const ClusterState& state, const JobRow& job, std::int64_t sign);
    // It refused the job, which is to be tried again when it may not refuse it.
    void await(const JobRow& job, const LimitHit& hit, Instant now);
    // False: one of them is damaged.
    bool restore(const ClusterState& state, const std::vector<BudgetImage>& images);
    // Calls on_queue(id) and on_tenant(id) for those whose period was over, or that are awaited.
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
