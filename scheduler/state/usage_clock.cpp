// Moves what was held into what is remembered, tick by tick, and keeps the shares of the planner up
// to date (docs/adr/0011-queue-tree.md).

#include <algorithm>
#include <tuple>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/share.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image.hpp"

namespace gpuctl {

template <typename Visit>
void ClusterState::visit_accounts(Visit visit) {
    for (QueueRow& queue : queues_) {
        visit(queue.account, queue.pool);
        for (Account& account : queue.by_tenant) visit(account, queue.pool);
    }
}

void ClusterState::note_usage(Account& account) {
    if (policy_.usage_half_life > Duration{}) account.usage.note(account.held, now_);
}

// Whoever compares it next computes the share: most changes are followed by others before that.
void ClusterState::change_account(Account& account, const Load& load, std::int64_t sign) {
    note_usage(account);
    account.held.add(load, sign);
    account.share = -1;
}

// A new half-life begins a new tick: what was held in the one under way is forgotten, the mean of
// those before is kept.
void ClusterState::start_usage_clock(Duration half_life_before) {
    const std::int64_t tick = tick_ms(policy_.usage_half_life);
    usage_tick_ = tick > 0 ? now_.ms() / tick : 0;
    if (policy_.usage_half_life == half_life_before) return;
    visit_accounts([&](Account& account, PoolId) {
        if (tick == 0) account.usage.mean = {};
        account.usage.sum = {};
        account.usage.since = now_;
    });
    for (PoolRow& pool : pools_) pool.shares_stale = true;
}

void ClusterState::finish_ticks() {
    const std::int64_t tick = tick_ms(policy_.usage_half_life);
    if (tick == 0) return;
    const std::int64_t now_in = now_.ms() / tick;
    if (now_in == usage_tick_) return;
    visit_accounts([&](Account& account, PoolId) {
        account.usage.finish(account.held, tick, usage_tick_, now_in);
    });
    usage_tick_ = now_in;
    for (PoolRow& pool : pools_) pool.shares_stale = true;
}

bool ClusterState::is_tick_over() const {
    if (looked_at_ <= now_) return false;  // each input finishes its ticks
    const std::int64_t tick = tick_ms(policy_.usage_half_life);
    return tick > 0 && looked_at_.ms() / tick > usage_tick_;
}

Usage ClusterState::usage_of(const Account& account) const {
    Usage usage = account.usage;
    if (!is_tick_over()) return usage;
    const std::int64_t tick = tick_ms(policy_.usage_half_life);
    usage.finish(account.held, tick, usage_tick_, looked_at_.ms() / tick);
    return usage;
}

void ClusterState::refresh_shares() {
    if (std::none_of(pools_.begin(), pools_.end(),
                     [](const PoolRow& pool) { return pool.shares_stale; })) {
        return;
    }
    visit_accounts([&](Account& account, PoolId pool) {
        if (!pools_[pool.value()].shares_stale) return;
        account.share = dominant_share(account.held, account.usage, pools_[pool.value()].offered);
    });
    for (PoolRow& pool : pools_) pool.shares_stale = false;
}

void ClusterState::offer_to_pool(PoolId pool, const NodeFacts& node, std::int64_t sign) {
    if (!pool.exists()) return;
    outside_.note_node(pool, node, sign);
    const Load load = offered_load(node);
    pools_[pool.value()].offered.add(load, sign);
    pools_[pool.value()].shares_stale = true;
    ModelRoom* const room = pools_[pool.value()].kept_of(node.gpu_model);
    if (room != nullptr) room->offered += load.gpus * sign;
}

std::vector<UsageImage> ClusterState::usage_image() const {
    std::vector<UsageImage> out;
    if (planted(PlantedBug::forget_usage_on_disk)) return out;
    const auto add = [&](const QueueRow& queue, const std::string& tenant, Account account) {
        if (policy_.usage_half_life > Duration{}) account.usage.note(account.held, now_);
        if (account.usage.mean == UsageAmounts{} && account.usage.sum == UsageAmounts{}) return;
        out.push_back({pools_[queue.pool.value()].name, queue.name, tenant, account.usage.mean,
                       account.usage.sum});
    };
    for (const QueueRow& queue : queues_) {
        add(queue, "", queue.account);
        for (std::uint32_t i = 0; i < queue.by_tenant.size(); ++i) {
            add(queue, tenants_[i].name, queue.by_tenant[i]);
        }
    }
    std::sort(out.begin(), out.end(), [](const UsageImage& a, const UsageImage& b) {
        return std::tie(a.pool, a.queue, a.tenant) < std::tie(b.pool, b.queue, b.tenant);
    });
    return out;
}

void ClusterState::restore_usage(const std::vector<UsageImage>& images) {
    for (const UsageImage& image : images) {
        QueueRow& queue = queues_[queue_named(pool_named(image.pool), image.queue).value()];
        Account* account = &queue.account;
        if (!image.tenant.empty()) {
            const TenantId tenant = tenant_named(image.tenant);
            if (queue.by_tenant.size() <= tenant.value())
                queue.by_tenant.resize(tenant.value() + 1);
            account = &queue.by_tenant[tenant.value()];
        }
        account->usage = {image.mean, image.sum, now_};
    }
    for (PoolRow& pool : pools_) pool.shares_stale = true;
}

std::int64_t ClusterState::aged_priority(std::int32_t priority, Instant since) const {
    if (policy_.ageing_step <= 0 || planted(PlantedBug::nobody_ages)) return priority;
    const std::int64_t every = std::max<std::int64_t>(policy_.ageing_every.ms(), 1);
    const std::int64_t steps = std::max<std::int64_t>((now() - since).ms(), 0) / every;
    const std::int64_t most = std::max<std::int64_t>(policy_.ageing_maximum, 0);
    return priority + std::min(most, std::min<std::int64_t>(steps, most) * policy_.ageing_step);
}

}  // namespace gpuctl
