#include "scheduler/policy/queue_order.hpp"

#include <algorithm>
#include <array>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl {
namespace {

using Order = std::strong_ordering;

// The term that decides among the jobs of a leaf, and the term among sub-queues. If all terms are
// equal, age decides.
enum class JobTerm : std::uint8_t {
    none,
    priority,
    tenant_share,
    tenant_quota,
    run_time  // predicted, less ageing (shortest_first.hpp)
};
enum class QueueTerm : std::uint8_t {
    none,
    priority,
    next_job,         // the priority of its next job
    under_guarantee,  // holds less than its guarantee
    guarantee_part,   // the held part of its guarantee, while the queue is below it
    run_time,         // of its next job, if long work is preempted for short work
    share             // dominant share / weight; for equal shares, recent usage / weight
};

struct Terms {
    std::array<JobTerm, 2> of_jobs{};
    std::array<QueueTerm, 5> of_queues{};
};

constexpr Terms terms_of(QueueOrder order) {
    switch (order) {
        // A queue below its guarantee reclaims it in any case: a job that started before it would
        // be evicted at once.
        case QueueOrder::fifo:
            return {{}, {QueueTerm::under_guarantee}};
        case QueueOrder::priority:
            return {{JobTerm::priority},
                    {QueueTerm::priority, QueueTerm::under_guarantee, QueueTerm::next_job}};
        case QueueOrder::fair_share:
            return {{JobTerm::priority, JobTerm::tenant_share},
                    {QueueTerm::priority, QueueTerm::under_guarantee, QueueTerm::share}};
        case QueueOrder::capacity:
            return {{JobTerm::tenant_quota, JobTerm::priority},
                    {QueueTerm::under_guarantee, QueueTerm::guarantee_part, QueueTerm::priority,
                     QueueTerm::share}};
        case QueueOrder::shortest:
            return {{JobTerm::priority, JobTerm::run_time},
                    {QueueTerm::priority, QueueTerm::under_guarantee, QueueTerm::run_time,
                     QueueTerm::share}};
    }
    return {};
}

Terms terms_for(QueueOrder order) {
    return terms_of(has_fault(SeededFault::one_order_for_all) ? QueueOrder::fair_share : order);
}

bool resumes(const JobClass& of) { return (of.key.ask.front() & 2U) != 0; }

std::int64_t priority_of(const ClusterState& state, const Contender& one) {
    return state.accounts.aged_priority(one.of->key.priority, one.job.submitted_at);
}

Order higher_first(std::int64_t a, std::int64_t b) { return b <=> a; }

std::int64_t share_of(const ClusterState& state, PoolId pool, const Account& account,
                      const Load& terminating) {
    // The stored share is out of date if a tick has ended, or a node was added, since the last
    // Plan. Then readers compute it.
    const bool is_known =
        account.share >= 0 && !state.pool(pool).shares_stale && !state.accounts.is_tick_over();
    if (is_known && terminating == Load{}) return account.share;
    Load held = account.held;
    held.add(terminating, -1);
    return dominant_share(held, state.accounts.usage_of(account), state.pool(pool).offered);
}

GpuMilli held_for_turn(const ClusterState& state, const Line& line, QueueId queue) {
    return state.queue(queue).account.held.gpus - line.terminating_pods.of_queue(queue).gpus;
}

GpuMilli held_for_turn(const ClusterState& state, const Line& line, TenantId tenant, PoolId pool) {
    return state.tree.held_in_pool(tenant, pool) - line.terminating_pods.of_tenant(tenant);
}

// GPUs held in the pool, relative to the maximum of the tenant: its quota, or the whole pool
// without a quota.
Share quota_part(const ClusterState& state, const Line& line, PoolId pool, TenantId tenant) {
    const GpuMilli most =
        state.tree.pool_quota(tenant, pool).value_or(state.pool(pool).offered.gpus);
    return {held_for_turn(state, line, tenant, pool).value(),
            std::max<std::int64_t>(most.value(), 1)};
}

Order compare_tenants(const ClusterState& state, const Line& line, QueueId leaf, TenantId x,
                      TenantId y) {
    const std::int64_t of_x = state.tenant(x).weight;
    const std::int64_t of_y = state.tenant(y).weight;
    const Order order = compare_share({share_of_tenant(state, line, leaf, x), of_x},
                                      {share_of_tenant(state, line, leaf, y), of_y});
    if (order != Order::equal) return order;
    return compare_share({recent_share_of_tenant(state, leaf, x), of_x},
                         {recent_share_of_tenant(state, leaf, y), of_y});
}

Order compare_jobs(const ClusterState& state, QueueId queue_id, Line& line, JobTerm term,
                   const Contender& a, const Contender& b) {
    const PoolId pool = state.queue(queue_id).pool;
    const TenantId x = a.of->key.tenant;
    const TenantId y = b.of->key.tenant;
    switch (term) {
        case JobTerm::none:
            return Order::equal;
        case JobTerm::priority: {
            const Order order = higher_first(priority_of(state, a), priority_of(state, b));
            return has_fault(SeededFault::low_priority_first) ? 0 <=> order : order;
        }
        case JobTerm::tenant_share:
            if (x == y || has_fault(SeededFault::ignore_tenant_shares)) return Order::equal;
            return compare_tenants(state, line, queue_id, x, y);
        case JobTerm::tenant_quota:
            if (x == y) return Order::equal;
            return compare_share(quota_part(state, line, pool, x),
                                 quota_part(state, line, pool, y));
        case JobTerm::run_time:
            return line.scores.compare(state, a.id, b.id, line.may_reserve);
    }
    return Order::equal;
}

// True if the queue is below its guarantee, or below its guarantee for a GPU model that its next
// job could use.
bool is_owed(const ClusterState& state, const Line& line, QueueId id, const Contender& next) {
    const QueueRow& queue = state.queue(id);
    if (held_for_turn(state, line, id) < queue.guaranteed_now()) return true;
    if (queue.models.empty() || queue.is_beyond_guarantee) return false;
    const Shape& shape = state.shape_of(ShapeId{next.of->key.ask[2]});  // see ask_of()
    const PlacementRules& rules = state.rules_of(shape);
    return std::any_of(queue.models.begin(), queue.models.end(), [&](const ModelHolding& model) {
        const GpuMilli held = model.held - line.terminating_pods.of_model(id, model.limit.model);
        return held < model.limit.guaranteed && shape.gpus > GpuMilli{0} &&
               takes_gpu_model(rules, model.limit.model);
    });
}

// The held part of the queue's guarantee. A queue that is below its guarantee for a GPU model only
// counts as holding all of its guarantee: otherwise the order would have a cycle.
Share part_held(const ClusterState& state, const Line& line, QueueId queue) {
    const std::int64_t held = held_for_turn(state, line, queue).value();
    const std::int64_t guaranteed = state.queue(queue).guaranteed_now().value();
    if (held >= guaranteed) return {1, 1};
    return {held, guaranteed};
}

Order compare_queues(const ClusterState& state, Line& line, QueueTerm term, QueueId id_a,
                     QueueId id_b, const Contender& next_a, const Contender& next_b) {
    const QueueRow& a = state.queue(id_a);
    const QueueRow& b = state.queue(id_b);
    switch (term) {
        case QueueTerm::none:
            return Order::equal;
        case QueueTerm::priority:
            if (has_fault(SeededFault::ignore_queue_priority)) return Order::equal;
            return higher_first(a.priority, b.priority);
        case QueueTerm::next_job:
            return higher_first(priority_of(state, next_a), priority_of(state, next_b));
        case QueueTerm::under_guarantee:
            if (has_fault(SeededFault::ignore_guarantees)) return Order::equal;
            return higher_first(is_owed(state, line, id_a, next_a) ? 1 : 0,
                                is_owed(state, line, id_b, next_b) ? 1 : 0);
        case QueueTerm::guarantee_part:
            if (!is_owed(state, line, id_a, next_a) || !is_owed(state, line, id_b, next_b)) {
                return Order::equal;
            }
            return compare_share(part_held(state, line, id_a), part_held(state, line, id_b));
        case QueueTerm::run_time: {
            const PreemptionPolicy& policy = state.pool(a.pool).preemption;
            if (!policy.stops_by_run_time()) return Order::equal;
            return line.scores.compare(state, next_a.id, next_b.id, line.may_reserve);
        }
        case QueueTerm::share: {
            const bool alike = has_fault(SeededFault::ignore_queue_weights);
            const std::int64_t of_a = alike ? 1 : a.weight;
            const std::int64_t of_b = alike ? 1 : b.weight;
            const Order order = compare_share({share_of_queue(state, line, id_a), of_a},
                                              {share_of_queue(state, line, id_b), of_b});
            if (order != Order::equal) return order;
            return compare_share({recent_share_of_queue(state, id_a), of_a},
                                 {recent_share_of_queue(state, id_b), of_b});
        }
    }
    return Order::equal;
}

// True if the next job of queue `a` is tried before the next job of its sibling `b`.
bool queue_comes_first(const ClusterState& state, Line& line, QueueOrder order, QueueId a,
                       QueueId b, const Contender& next_a, const Contender& next_b) {
    if (resumes(*next_a.of) != resumes(*next_b.of)) return resumes(*next_a.of);
    for (const QueueTerm term : terms_for(order).of_queues) {
        const Order found = compare_queues(state, line, term, a, b, next_a, next_b);
        if (found != Order::equal) return found == Order::less;
    }
    return next_a.job < next_b.job;
}

Contender contender(const ClusterState& state, ClassId id) {
    const JobClass& of = state.waiting.book().at(id);
    return {id, &of, *of.jobs.begin()};
}

ClassId next_in_leaf(const ClusterState& state, QueueId queue, Line& line) {
    ClassId best;
    for (const ClassId id : state.waiting.book().of_queue(queue)) {
        if (!line.offers(state, id)) continue;
        if (!best.exists() ||
            job_comes_first(state, queue, line, contender(state, id), contender(state, best))) {
            best = id;
        }
    }
    return best;
}

// The class to try next among sibling `queues`, whose parent has this order.
ClassId next_of(const ClusterState& state, QueueOrder order, const std::vector<QueueId>& queues,
                Line& line) {
    ClassId best;
    QueueId best_queue;
    for (const QueueId queue : queues) {
        const QueueRow& row = state.queue(queue);
        const ClassId id = row.children.empty() ? next_in_leaf(state, queue, line)
                                                : next_of(state, row.order, row.children, line);
        if (!id.exists()) continue;
        if (best.exists() && !queue_comes_first(state, line, order, queue, best_queue,
                                                contender(state, id), contender(state, best))) {
            continue;
        }
        best = id;
        // Seeded fault: further up the leaf itself is compared, not its branch.
        best_queue = has_fault(SeededFault::compare_leaves_only)
                         ? state.waiting.book().at(id).key.queue
                         : queue;
    }
    return best;
}

}  // namespace

// A class that was refused only for lack of room may still become the head of the line. A class
// that a limit blocks may become the head under that limit.
bool Line::offers(const ClusterState& state, ClassId id) const {
    const JobClass& of = state.waiting.book().at(id);
    // Changes since its refusal may give the class another turn. Until it has had that turn, it is
    // a head.
    if (has_only_heads) return reserves_quota && heads.offers(state, id);
    if (!state.waiting.is_blocked(of)) return true;
    if (of.block.is_limited) return reserves_quota && heads.offers(state, id);
    return may_reserve && (of.block.watch & ClassBlock::kPoolGains) != 0 &&
           std::find(passed.begin(), passed.end(), id) == passed.end();
}

std::int64_t share_of_queue(const ClusterState& state, const Line& line, QueueId queue) {
    const QueueRow& row = state.queue(queue);
    return share_of(state, row.pool, row.account, line.terminating_pods.of_queue(queue));
}

std::int64_t share_of_tenant(const ClusterState& state, const Line& line, QueueId leaf,
                             TenantId tenant) {
    const QueueRow& row = state.queue(leaf);
    if (tenant.value() >= row.by_tenant.size()) return 0;
    return share_of(state, row.pool, row.by_tenant[tenant.value()],
                    line.terminating_pods.of_tenant(leaf, tenant));
}

namespace {

std::int64_t recent_share_of(const ClusterState& state, PoolId pool, const Account& account) {
    return compute_recent_share(account.held, state.accounts.usage_of(account), state.now(),
                                state.policy().usage_half_life, state.pool(pool).offered);
}

}  // namespace

std::int64_t recent_share_of_queue(const ClusterState& state, QueueId queue) {
    return recent_share_of(state, state.queue(queue).pool, state.queue(queue).account);
}

std::int64_t recent_share_of_tenant(const ClusterState& state, QueueId leaf, TenantId tenant) {
    const QueueRow& row = state.queue(leaf);
    if (tenant.value() >= row.by_tenant.size()) return 0;
    return recent_share_of(state, row.pool, row.by_tenant[tenant.value()]);
}

bool job_comes_first(const ClusterState& state, QueueId queue, Line& line, const Contender& a,
                     const Contender& b) {
    if (resumes(*a.of) != resumes(*b.of)) return resumes(*a.of);
    const QueueRow& row = state.queue(queue);
    for (const JobTerm term : terms_for(row.order).of_jobs) {
        const Order found = compare_jobs(state, queue, line, term, a, b);
        if (found != Order::equal) return found == Order::less;
    }
    return (a.job < b.job) != has_fault(SeededFault::youngest_first);
}

ClassId next_class(const ClusterState& state, PoolId pool, Line& line) {
    const PoolRow& row = state.pool(pool);
    line.terminating_pods.read(state, pool);
    const ClassId best = next_of(state, row.order, row.roots, line);
    const ClassId system = next_in_leaf(state, state.tree.system_queue(pool), line);
    if (!system.exists() || (best.exists() && resumes(state.waiting.book().at(best)) &&
                             !resumes(state.waiting.book().at(system)))) {
        return best;
    }
    return system;
}

}  // namespace gpuctl
