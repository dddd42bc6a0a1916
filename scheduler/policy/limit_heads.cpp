#include "scheduler/policy/limit_heads.hpp"

#include <algorithm>
#include <tuple>

#include "scheduler/state/tree/queue_chain.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kPassedMost = 16;

// Visits the queues whose limits blocked the class, until `visit(QueueId)` returns true.
template <typename Visit>
bool any_queue(const ClusterState& state, const JobClass& of, Visit visit) {
    std::uint16_t bit = 1;
    for (QueueId up = of.key.queue; up.exists(); up = state.queue(up).parent) {
        if ((of.block.limits & bit) != 0 && visit(up)) return true;
        bit = static_cast<std::uint16_t>(bit << 1U);
    }
    return false;
}

bool both(const JobClass& a, const JobClass& b, std::uint16_t bit) {
    return (a.block.limits & b.block.limits & bit) != 0;
}

// True if the same limit blocked both classes.
bool share_a_limit(const ClusterState& state, const JobClass& a, const JobClass& b) {
    if (both(a, b, ClassBlock::kOfPool)) return true;
    if (both(a, b, ClassBlock::kOfTenant) && a.key.tenant == b.key.tenant) return true;
    return any_queue(state, a, [&](QueueId of_a) {
        return any_queue(state, b, [&](QueueId of_b) { return of_a == of_b; });
    });
}

const JobRow& first_of(const ClusterState& state, const JobClass& of) {
    return state.job(of.jobs.begin()->job);
}

// The order of jobs of different pools.
bool comes_before(const ClusterState& state, const JobRow& a, const JobRow& b) {
    const std::int64_t of_a = state.accounts.aged_priority(a.priority, a.submitted_at);
    const std::int64_t of_b = state.accounts.aged_priority(b.priority, b.submitted_at);
    if (of_a != of_b) return of_a > of_b;
    return std::tie(a.submitted_at, a.arrival) < std::tie(b.submitted_at, b.arrival);
}

bool comes_before(const ClusterState& state, const JobClass& a, const JobClass& b) {
    return comes_before(state, first_of(state, a), first_of(state, b));
}

}  // namespace

bool is_under_limit_of(const ClusterState& state, const JobClass& limited, const ClassKey& other) {
    const std::uint16_t limits = limited.block.limits;
    const auto pool_of = [&](const ClassKey& key) { return state.queue(key.queue).pool; };
    if ((limits & ClassBlock::kOfPool) != 0 && pool_of(limited.key) == pool_of(other)) return true;
    if (limited.key.tenant == other.tenant && state.tenant(other.tenant).has_limits()) return true;
    for (QueueId up = limited.key.queue; up.exists(); up = state.queue(up).parent) {
        if (state.queue(up).has_limits() && is_below(state, other.queue, up)) return true;
    }
    return false;
}

bool yields_across_pools(const ClusterState& state, const JobRow& head, const JobRow& to) {
    return head.pool != to.pool && comes_before(state, to, head);
}

ClassId first_of_other_pools(const ClusterState& state, PoolId pool, TenantId tenant,
                             ClassId before, const LimitHeads& known) {
    ClassId best;
    for (const auto& [name, other] : state.tree.pools_by_name()) {
        if (other == pool || !reserves_quota(state.pool(other))) continue;
        for (const QueueId queue : state.pool(other).queues) {
            for (const ClassId id : state.waiting.book().of_queue(queue)) {
                const JobClass& of = state.waiting.book().at(id);
                if (of.key.tenant != tenant) continue;
                if ((of.block.limits & ClassBlock::kOfTenant) == 0) continue;
                const auto comes_after = [&](ClassId one) {
                    return one.exists() && !comes_before(state, of, state.waiting.book().at(one));
                };
                if (comes_after(before) || comes_after(best)) continue;
                if (!known.has_answer_in_other_pool(state, id)) best = id;
            }
        }
    }
    return best;
}

// True for all classes once the maximum number of heads was passed over.
bool LimitHeads::was_passed(ClassId id) const {
    return passed_.size() == kPassedMost ||
           std::find(passed_.begin(), passed_.end(), id) != passed_.end();
}

bool LimitHeads::has_answer_for(const ClusterState& state, ClassId id) const {
    if (was_passed(id)) return true;
    const JobClass& of = state.waiting.book().at(id);
    return std::any_of(heads_.begin(), heads_.end(), [&](ClassId known) {
        const JobClass& head = state.waiting.book().at(known);
        return share_a_limit(state, of, head) &&  // false if the class was removed
               !yields_across_pools(state, first_of(state, head), first_of(state, of));
    });
}

bool LimitHeads::has_answer_in_other_pool(const ClusterState& state, ClassId id) const {
    if (was_passed(id)) return true;
    const JobClass& of = state.waiting.book().at(id);
    return std::any_of(heads_.begin(), heads_.end(), [&](ClassId known) {
        const JobClass& head = state.waiting.book().at(known);
        return share_a_limit(state, of, head) && (known == id || comes_before(state, head, of));
    });
}

void LimitHeads::add_head(const ClusterState& state, ClassId head) {
    heads_.push_back(head);
    jobs_.push_back(state.waiting.book().at(head).jobs.begin()->job);
}

bool LimitHeads::looked_before(ClassId tried) const {
    return std::find(tried_.begin(), tried_.end(), tried) != tried_.end();
}

bool LimitHeads::is_known(JobId job) const {
    return std::find(jobs_.begin(), jobs_.end(), job) != jobs_.end();
}

bool LimitHeads::offers(const ClusterState& state, ClassId id) const {
    const JobClass& of = state.waiting.book().at(id);
    const bool was_behind = of.block.behind.exists() && !is_known(of.block.behind);
    if (was_behind && !looks_for_all_) return true;
    if (of.block.limits == 0) return false;
    const PoolRow& pool = state.pool(state.queue(of.key.queue).pool);
    const JobId job = of.jobs.begin()->job;
    const bool is_wanted =
        looks_for_all_ ||
        std::any_of(pool.reservations.under_limits.begin(), pool.reservations.under_limits.end(),
                    [job](const HeadReservation& kept) { return kept.job == job; }) ||
        std::any_of(tried_.begin(), tried_.end(), [&](ClassId tried) {
            return is_under_limit_of(state, of, state.waiting.book().at(tried).key);
        });
    return is_wanted && !has_answer_for(state, id);
}

}  // namespace gpuctl
