#pragma once
// What queues and namespaces hold and held: decayed usage, budgets of GPU time, limits.
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

    [[nodiscard]] bool is_tick_over() const;  // of usage, since the last input (usage_clock.cpp)
    [[nodiscard]] Usage usage_of(const Account& account) const;  // with the ticks ended by now()
    [[nodiscard]] const BudgetBook& budgets() const { return budgets_; }
    // The first limit that so much more would cross (limits.hpp); kind none: it may hold it.
    [[nodiscard]] LimitHit limit_hit(const JobRow& job, const Load& ask) const;
    // A job's priority with what it gained by waiting.
    [[nodiscard]] std::int64_t aged_priority(std::int32_t priority, Instant since) const;
    void charge(PodId id, std::int64_t sign);
    void charge_models(QueueId queue, const PodRow& pod, std::int64_t sign);
    void charge_pods_of(const NodeRow& node, std::int64_t sign);
    void charge_pods_of(const JobRow& job, std::int64_t sign);  // those that hold
    void take_budgets();                                        // budget_book.cpp, as the next two
    void turn_budgets();
    void note_other_end(const PodRow& pod, Instant end);
    void note_room_in_limits(const JobRow& job);
    [[nodiscard]] std::vector<UsageImage> usage_image() const;
    void restore_usage(const std::vector<UsageImage>& images, Key<StateReader>);
    // The job is to look again when the period of this budget ends.
    void await_budget(const JobRow& job, const LimitHit& budget);
    // What the job's nominated pods take from budgets is committed (sign 1), or no more. False:
    // they take nothing.
    bool commit_claims(const JobRow& job, std::int64_t sign);
    void note_usage_of_queues();
    void sum_up_pools();  // what queues hold, along the tree as it is now
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
    void visit_accounts(Visit visit);  // with the pool of each

    ClusterState& state_;
    std::int64_t usage_tick_ = 0;  // the one that the last event lies in
    BudgetBook budgets_;
};

}  // namespace gpuctl
