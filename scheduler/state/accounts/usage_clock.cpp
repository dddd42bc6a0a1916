// Turns what was held into decayed usage, tick by tick, and keeps the shares of the planner up to
// date (docs/adr/0011-queue-tree.md).

#include <algorithm>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/share.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {

template <typename Visit>
void Accounts::visit_accounts(Visit visit) {
    for (std::uint32_t i = 0; i < state_.tree.queue_rows().size(); ++i) {
        const PoolId pool = state_.tree.queue_rows()[i].pool;
        QueueHoldings& queue = state_.tree.queue_rows().holdings(QueueId{i}, {});
        visit(queue.account, pool);
        for (Account& account : queue.by_tenant) visit(account, pool);
    }
}

void Accounts::make_shares_stale() {
    for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i)
        state_.tree.pool_rows().holdings(PoolId{i}, {}).shares_stale = true;
}

void Accounts::note_usage_of_queues() {
    for (std::uint32_t i = 0; i < state_.tree.queue_rows().size(); ++i)
        note_usage(state_.tree.queue_rows().holdings(QueueId{i}, {}).account);
}

void Accounts::note_usage(Account& account) {
    if (state_.session.policy().usage_half_life > Duration{})
        account.usage.accumulate(account.held, state_.session.event_time());
}

// The share is computed when it is compared next: most changes are followed by more changes before
// that.
void Accounts::change_account(Account& account, const Load& load, std::int64_t sign) {
    note_usage(account);
    account.held.add(load, sign);
    account.share = -1;
}

// A new half-life begins a new tick: what was held in the current tick is forgotten, the mean of
// the ticks before is kept.
void Accounts::start_usage_clock(Duration half_life_before) {
    const std::int64_t tick = tick_ms(state_.session.policy().usage_half_life);
    usage_tick_ = tick > 0 ? state_.session.event_time().ms() / tick : 0;
    if (state_.session.policy().usage_half_life == half_life_before) return;
    visit_accounts([&](Account& account, PoolId) {
        if (tick == 0) account.usage.mean = {};
        account.usage.sum = {};
        account.usage.since = state_.session.event_time();
    });
    make_shares_stale();
}

void Accounts::finish_ticks() {
    const std::int64_t tick = tick_ms(state_.session.policy().usage_half_life);
    if (tick == 0) return;
    const std::int64_t now_in = state_.session.event_time().ms() / tick;
    if (now_in == usage_tick_) return;
    visit_accounts([&](Account& account, PoolId) {
        account.usage.finish(account.held, tick, usage_tick_, now_in);
    });
    usage_tick_ = now_in;
    make_shares_stale();
}

bool Accounts::is_tick_over() const {
    if (state_.session.looked_at() <= state_.session.event_time())
        return false;  // each input finishes its ticks
    const std::int64_t tick = tick_ms(state_.session.policy().usage_half_life);
    return tick > 0 && state_.session.looked_at().ms() / tick > usage_tick_;
}

Usage Accounts::usage_of(const Account& account) const {
    Usage usage = account.usage;
    if (!is_tick_over()) return usage;
    const std::int64_t tick = tick_ms(state_.session.policy().usage_half_life);
    usage.finish(account.held, tick, usage_tick_, state_.session.looked_at().ms() / tick);
    return usage;
}

void Accounts::refresh_shares() {
    if (std::none_of(state_.tree.pool_rows().begin(), state_.tree.pool_rows().end(),
                     [](const PoolRow& pool) { return pool.shares_stale; })) {
        return;
    }
    visit_accounts([&](Account& account, PoolId pool) {
        if (!state_.tree.pool_rows()[pool.value()].shares_stale) return;
        account.share = dominant_share(account.held, account.usage,
                                       state_.tree.pool_rows()[pool.value()].offered);
    });
    for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i)
        state_.tree.pool_rows().holdings(PoolId{i}, {}).shares_stale = false;
}

void Accounts::offer_to_pool(PoolId pool, const NodeFacts& node, std::int64_t sign) {
    if (!pool.exists()) return;
    state_.nodes.note_counted(pool, node, sign);
    const Load load = offered_load(node);
    PoolHoldings& row = state_.tree.pool_rows().holdings(pool, {});
    row.offered.add(load, sign);
    row.shares_stale = true;
    ModelRoom* const room = row.find_reserved_model(node.gpu_model);
    if (room != nullptr) room->offered += load.gpus * sign;
}

std::vector<UsageImage> Accounts::usage_image() const {
    std::vector<UsageImage> out;
    if (has_fault(SeededFault::forget_usage_on_disk)) return out;
    const auto add = [&](const QueueRow& queue, const std::string& tenant, Account account) {
        if (state_.session.policy().usage_half_life > Duration{})
            account.usage.accumulate(account.held, state_.session.event_time());
        if (account.usage.mean == UsageAmounts{} && account.usage.sum == UsageAmounts{}) return;
        out.push_back({state_.tree.pool_rows()[queue.pool.value()].name, queue.name, tenant,
                       account.usage.mean, account.usage.sum});
    };
    for (const QueueRow& queue : state_.tree.queue_rows()) {
        add(queue, "", queue.account);
        for (std::uint32_t i = 0; i < queue.by_tenant.size(); ++i) {
            add(queue, state_.tree.tenant_rows()[i].name, queue.by_tenant[i]);
        }
    }
    std::sort(out.begin(), out.end(), [](const UsageImage& a, const UsageImage& b) {
        return std::tie(a.pool, a.queue, a.tenant) < std::tie(b.pool, b.queue, b.tenant);
    });
    return out;
}

void Accounts::restore_usage(const std::vector<UsageImage>& images, Key<StateReader>) {
    for (const UsageImage& image : images) {
        const QueueId id = state_.tree.queue_named(state_.tree.pool_named(image.pool), image.queue);
        QueueHoldings& queue = state_.tree.queue_rows().holdings(id, {});
        Account* account = &queue.account;
        if (!image.tenant.empty()) {
            const TenantId tenant = state_.tree.tenant_named(image.tenant);
            if (queue.by_tenant.size() <= tenant.value())
                queue.by_tenant.resize(tenant.value() + 1);
            account = &queue.by_tenant[tenant.value()];
        }
        account->usage = {image.mean, image.sum, state_.session.event_time()};
    }
    make_shares_stale();
}

std::int64_t Accounts::aged_priority(std::int32_t priority, Instant since) const {
    if (state_.session.policy().ageing_step <= 0 || has_fault(SeededFault::ignore_ageing))
        return priority;
    const std::int64_t every = std::max<std::int64_t>(state_.session.policy().ageing_every.ms(), 1);
    const std::int64_t steps =
        std::max<std::int64_t>((state_.session.now() - since).ms(), 0) / every;
    const std::int64_t most = std::max<std::int64_t>(state_.session.policy().ageing_maximum, 0);
    return priority + std::min(most, std::min<std::int64_t>(steps, most) *
                                         state_.session.policy().ageing_step);
}

}  // namespace gpuctl
