#pragma once
// What queues and namespaces hold, their decayed usage, the budgets of GPU time, and the limits.
//
// Owner, thread: ClusterState's.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/accounts/budget_book.hpp"
#include "scheduler/state/accounts/limit_hit.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;

class Accounts {
public:
    explicit Accounts(ClusterState& state) : state_(state) {}

    // a tick has ended since the last input (usage_clock.cpp)
    [[nodiscard]] bool is_tick_over() const;
    [[nodiscard]] Usage usage_of(const Account& account) const;  // with the ticks ended by now()
    [[nodiscard]] const BudgetBook& budgets() const { return budgets_; }
    // The first limit that the job would cross with `ask` more (limits.hpp); kind none: it crosses
    // none.
    [[nodiscard]] LimitHit limit_hit(const JobRow& job, const Load& ask) const;
    // The priority of a job with what it gained by ageing.
    [[nodiscard]] std::int64_t aged_priority(std::int32_t priority, Instant since) const;
    void charge(PodId id, std::int64_t sign);
    void charge_models(QueueId queue, const PodRow& pod, std::int64_t sign);
    void charge_pods_of(const NodeRow& node, std::int64_t sign);
    void charge_pods_of(const JobRow& job, std::int64_t sign);  // the pods that have a node
    void take_budgets();  // budget_book.cpp, like the next two
    void turn_budgets();
    void note_other_end(const PodRow& pod, Instant end);
    void note_room_in_limits(const JobRow& job);
    [[nodiscard]] std::vector<UsageImage> usage_image() const;
    void restore_usage(const std::vector<UsageImage>& images, Key<StateReader>);
    // Records when the budget may no longer refuse the job, which is then tried again.
    void await_budget(const JobRow& job, const LimitHit& budget);
    // Commits to budgets what the job's nominated pods will use (sign 1), or withdraws it. False:
    // there is nothing to commit.
    bool commit_nominations(const JobRow& job, std::int64_t sign);
    void note_usage_of_queues();
    void sum_up_pools();  // sums up what queues hold, along the current tree
    [[nodiscard]] bool restore_budgets(const std::vector<BudgetImage>& images, Key<StateReader>);
    void start_usage_clock(Duration half_life_before);
    void finish_ticks();
    void refresh_shares();
    void offer_to_pool(PoolId pool, const NodeFacts& node, std::int64_t sign);

private:
    void note_usage(Account& account);
    void sum_up(QueueId queue);
    void sum_up_models();
    void make_shares_stale();
    [[nodiscard]] bool reserves_lent(const PoolRow& pool) const;
    void charge_queues(QueueId queue, TenantId tenant, const Load& load, std::int64_t sign,
                       std::int64_t jobs);
    void change_account(Account& account, const Load& load, std::int64_t sign);
    template <typename Visit>
    void visit_accounts(Visit visit);  // visit(account, pool of the queue)

    ClusterState& state_;
    std::int64_t usage_tick_ = 0;  // the tick of the last event
    BudgetBook budgets_;
};

}  // namespace gpuctl
