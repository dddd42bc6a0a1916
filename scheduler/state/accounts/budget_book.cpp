// Budgets of GPU time: what is spent and committed as pods take and release GPUs, the end of a
// period, and the jobs that are tried again then (docs/adr/0022-budgets.md).

#include "scheduler/state/accounts/budget_book.hpp"

#include <algorithm>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {
namespace {

// Keeps the spent time if period and anchor are unchanged; otherwise it begins from zero.
Budget make_budget(const BudgetPolicy& policy, const Budget* known, Instant now) {
    Budget budget{policy, Spending{policy, now}, {}};
    const bool goes_on = known != nullptr && known->policy.period == policy.period &&
                         known->policy.anchor == policy.anchor;
    if (goes_on) budget.spending.restore(known->spending.kept(now), now);
    return budget;
}

BudgetImage image_of(const Budget& budget, Instant now) {
    const Spending::Kept kept = budget.spending.kept(now);
    return {"", "", "", kept.period_begin, kept.used, kept.carried, budget.look_again_at};
}

bool restore_one(Budget& budget, const BudgetImage& image, Instant now) {
    const bool is_one = image.used >= GpuTime{} && image.used == clamped(image.used) &&
                        image.carried == clamped(image.carried) &&
                        budget.spending.period().begin == image.period_begin;
    if (!is_one) return false;
    budget.spending.restore({image.period_begin, image.used, image.carried}, now);
    budget.look_again_at = image.look_again_at;
    return true;
}

// GPUs of the refused job: the GPU time that it needs, divided by the time it would run in this
// period.
GpuMilli gpus_of(const Spending& spending, const JobRow& job, const LimitHit& hit, Instant now) {
    Duration time = spending.period().end - now;
    if (job.run.time_max > Duration{}) time = std::min(time, job.run.time_max);
    return GpuMilli{hit.needed / std::max<std::int64_t>(time.ms(), 1)};
}

// True if the pod counts against budgets. The same pods are charged to queues.
bool draws(const PodRow& pod, const JobRow& job) {
    return pod.node.exists() && job.queue.exists() && job.priority < kSystemPriority;
}

}  // namespace

const Budget* BudgetBook::of(QueueId queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? nullptr : &found->second;
}

const Budget* BudgetBook::of(TenantId tenant, PoolId pool) const {
    const auto found = tenants_.find({tenant, pool});
    return found == tenants_.end() ? nullptr : &found->second;
}

const Budget& BudgetBook::of(const JobRow& job, const LimitHit& hit) const {
    return hit.queue.exists() ? queues_.at(hit.queue) : tenants_.at({job.tenant, job.pool});
}

Instant BudgetBook::suffices_from(const JobRow& job, const LimitHit& hit, Instant now) const {
    const Spending& spending = of(job, hit).spending;
    const GpuMilli gpus = gpus_of(spending, job, hit, now);
    return std::max(spending.fits_from(gpus, GpuTime{hit.limit - hit.held}), now + Duration{1});
}

void BudgetBook::add(QueueId queue, const BudgetPolicy& policy, const BudgetBook& before,
                     Instant now) {
    queues_[queue] = make_budget(policy, before.of(queue), now);
    find_next_turn();
}

void BudgetBook::add(TenantId tenant, PoolId pool, const BudgetPolicy& policy,
                     const BudgetBook& before, Instant now) {
    tenants_[{tenant, pool}] = make_budget(policy, before.of(tenant, pool), now);
    find_next_turn();
}

void BudgetBook::count_pod(const ClusterState& state, const PodRow& pod, Instant end,
                           std::int64_t sign) {
    const GpuMilli gpus = state.pods.shapes().at(pod.shape).gpus;
    if (gpus <= GpuMilli{}) return;
    const JobRow& job = state.job(pod.job);
    const bool is_nominated = pod.bind.state == BindState::nominated;
    const auto change = [&](Budget& budget) {
        Spending& spending = budget.spending;
        if (is_nominated) {
            sign > 0 ? spending.add_nomination(gpus, job.run.time_max)
                     : spending.withdraw_nomination(gpus, job.run.time_max);
        } else {
            sign > 0 ? spending.hold(gpus, end, state.now())
                     : spending.release(gpus, end, state.now());
        }
    };
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        if (const auto found = queues_.find(id); found != queues_.end()) change(found->second);
    }
    const auto found = tenants_.find({job.tenant, job.pool});
    if (found != tenants_.end()) change(found->second);
}

bool BudgetBook::count_nominations(const ClusterState& state, const JobRow& job,
                                   std::int64_t sign) {
    if (empty() || !job.nomination.exists()) return false;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool is_nominated = pod.bind.state == BindState::nominated;
        if (is_nominated && draws(pod, job)) count_pod(state, pod, Instant{}, sign);
    }
    return true;
}

void BudgetBook::await(const JobRow& job, const LimitHit& hit, Instant now) {
    Instant at = suffices_from(job, hit, now);
    Budget& budget =
        hit.queue.exists() ? queues_.at(hit.queue) : tenants_.at({job.tenant, job.pool});
    if (const Spending& spending = budget.spending; spending.nominated() > GpuMilli{}) {
        const GpuMilli gpus = gpus_of(spending, job, hit, now);
        const GpuTime left{hit.limit - hit.held};
        at = std::min(at, spending.fits_with_nominations_from(gpus, job.run.time_max, left, now));
        at = std::max(at, now + Duration{1});
    }
    if (!budget.look_again_at.happened() || at < budget.look_again_at) budget.look_again_at = at;
    turns_at_ = std::min(turns_at_, budget.look_again_at);
}

bool BudgetBook::turn(Budget& budget, Instant now) {
    const bool is_over = budget.spending.turn(budget.policy, now);
    const bool is_awaited = budget.look_again_at.happened() && budget.look_again_at <= now;
    if (is_over || is_awaited) budget.look_again_at = Instant{};
    return is_over || is_awaited;
}

void BudgetBook::find_next_turn() {
    turns_at_ = Instant{};
    const auto consider = [this](const Budget& budget) {
        for (const Instant at : {budget.spending.period().end, budget.look_again_at}) {
            if (at.happened() && (!turns_at_.happened() || at < turns_at_)) turns_at_ = at;
        }
    };
    for (const auto& [id, budget] : queues_) consider(budget);
    for (const auto& [id, budget] : tenants_) consider(budget);
}

std::vector<BudgetImage> BudgetBook::image(const ClusterState& state, Instant now) const {
    std::vector<BudgetImage> out;
    if (has_fault(SeededFault::forget_budgets_on_disk)) return out;
    for (const auto& [id, budget] : queues_) {
        BudgetImage& image = out.emplace_back(image_of(budget, now));
        image.pool = state.pool(state.queue(id).pool).name;
        image.queue = state.queue(id).name;
    }
    for (const auto& [id, budget] : tenants_) {
        BudgetImage& image = out.emplace_back(image_of(budget, now));
        image.pool = state.pool(id.second).name;
        image.tenant = state.tenant(id.first).name;
    }
    std::sort(out.begin(), out.end(), [](const BudgetImage& a, const BudgetImage& b) {
        return std::tie(a.pool, a.queue, a.tenant) < std::tie(b.pool, b.queue, b.tenant);
    });
    return out;
}

bool BudgetBook::restore(const ClusterState& state, const std::vector<BudgetImage>& images) {
    const auto restore = [&](Budget& budget, const std::string& pool, const std::string& queue,
                             const std::string& tenant) {
        const auto found = std::find_if(images.begin(), images.end(), [&](const BudgetImage& one) {
            return one.pool == pool && one.queue == queue && one.tenant == tenant;
        });
        return found == images.end() || restore_one(budget, *found, state.now());
    };
    for (auto& [id, budget] : queues_) {
        const QueueRow& queue = state.queue(id);
        if (!restore(budget, state.pool(queue.pool).name, queue.name, "")) return false;
    }
    for (auto& [id, budget] : tenants_) {
        const std::string& tenant = state.tenant(id.first).name;
        if (!restore(budget, state.pool(id.second).name, "", tenant)) return false;
    }
    find_next_turn();
    return true;
}

// --- budgets in ClusterState ---

void Accounts::take_budgets() {
    const BudgetBook before = std::exchange(budgets_, {});
    for (const PoolPolicy& pool : state_.session.policy().pools) {
        const PoolId in = state_.tree.pool_named(pool.name);
        for (const QueuePolicy& queue : pool.queues) {
            if (queue.budget)
                budgets_.add(state_.tree.queue_named(in, queue.name), *queue.budget, before,
                             state_.session.event_time());
        }
    }
    for (const TenantPolicy& tenant : state_.session.policy().tenants) {
        for (const PoolQuota& quota : tenant.pools) {
            if (!quota.budget) continue;
            budgets_.add(state_.tree.tenant_named(tenant.name), state_.tree.pool_named(quota.pool),
                         *quota.budget, before, state_.session.event_time());
        }
    }
    if (budgets_.empty()) return;
    for (const PodRow& pod : state_.pods.rows()) {
        if (!pod.job.exists() || !draws(pod, state_.jobs.rows()[pod.job.value()])) continue;
        budgets_.count_pod(state_, pod, pod.ends_at, 1);
    }
}

// Called when a period is over, or when the rest of a period is short enough for a refused job:
// waiting jobs are tried again.
void Accounts::turn_budgets() {
    budgets_.turn(
        state_.session.event_time(), [this](QueueId queue) { state_.tree.note_shrink(queue); },
        [this](TenantId tenant) { state_.tree.note_shrink(tenant); });
    state_.session.note_news();
}

void Accounts::await_budget(const JobRow& job, const LimitHit& budget) {
    budgets_.await(job, budget, state_.session.now());
}

bool Accounts::commit_nominations(const JobRow& job, std::int64_t sign) {
    return budgets_.count_nominations(state_, job, sign);
}

bool Accounts::restore_budgets(const std::vector<BudgetImage>& images, Key<StateReader>) {
    return budgets_.restore(state_, images);
}

// The end of the pod is predicted for another time.
void Accounts::note_other_end(const PodRow& pod, Instant end) {
    if (!pod.job.exists() || !draws(pod, state_.jobs.rows()[pod.job.value()])) return;
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    budgets_.count_pod(state_, pod, pod.ends_at, -1);
    budgets_.count_pod(state_, pod, end, 1);
    const bool is_sooner = end.happened() && (!pod.ends_at.happened() || end < pod.ends_at);
    // otherwise it was placed in this step
    if (!is_sooner || pod.bind.state != BindState::bound) return;
    note_room_in_limits(job);
}

// Tries again the jobs that were refused by a limit under which this job counts.
void Accounts::note_room_in_limits(const JobRow& job) {
    state_.tree.note_shrink(job.tenant);
    for (QueueId up = job.queue; up.exists(); up = state_.tree.queue_rows()[up.value()].parent) {
        state_.tree.note_shrink(up);
    }
    state_.session.note_news();
}

}  // namespace gpuctl
