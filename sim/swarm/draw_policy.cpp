// Policies: pools, queues and tenants, then features such as budgets, reserves and maintenance
// windows, each from a stream of its own (options.hpp).

#include "sim/swarm/options.hpp"

#include <algorithm>

namespace gpuctl::sim {
namespace {

QueueOrder draw_order(Rng& rng) {
    constexpr QueueOrder others[] = {QueueOrder::fifo, QueueOrder::priority, QueueOrder::capacity,
                                     QueueOrder::shortest};
    return rng.chance(1, 2) ? QueueOrder::fair_share : others[rng.below(4)];
}

// Limits of a queue that may hold `most` GPUs or more.
void draw_limits(Rng& rng, QueuePolicy& queue, std::int64_t most) {
    queue.order = draw_order(rng);
    if (rng.chance(1, 4)) queue.borrowing_limit = whole_gpus(rng.between(0, most));
    if (rng.chance(1, 3)) {
        const std::int64_t guaranteed = queue.guaranteed.value() / kGpuMilliPerGpu;
        queue.lending_limit = whole_gpus(rng.between(0, guaranteed));
    }
    if (rng.chance(1, 5)) queue.jobs_maximum = rng.between(1, 3);
    if (rng.chance(1, 4)) {
        queue.models.push_back({kModels[rng.below(2)], GpuMilli{}, whole_gpus(rng.between(1, 4))});
        if (rng.chance(1, 3)) queue.models[0].guaranteed = whole_gpus(1);
    }
    if (rng.chance(1, 6)) queue.gpus_per_job_maximum = whole_gpus(rng.between(2, 8));
}

constexpr std::uint64_t kTimesStream = 0x6d6f6d65;
constexpr std::uint64_t kKeepStream = 0x6b656570;

// Drawn from a copy of the stream: whether and when the pool keeps nodes for a job without a
// reservation.
void draw_node_keeping(Rng copy, BackfillPolicy& policy) {
    Rng rng{copy.next() ^ kKeepStream};
    policy.keep_after = Duration{};
    if (rng.chance(1, 2)) policy.keep_after = Duration::seconds(rng.between(1, 40));
}

// Drawn from a copy of the stream, so that later draws of a seed stay as they were before this
// feature.
void draw_times(Rng copy, PreemptionPolicy& policy) {
    Rng rng{copy.next() ^ kTimesStream};
    if (rng.chance(1, 3)) policy.mode = PreemptionMode::due;
    policy.slowdown_percent = static_cast<std::int32_t>(rng.between(100, 500));
    if (rng.chance(1, 2)) policy.makespan_percent = static_cast<std::int32_t>(rng.between(10, 150));
    if (rng.chance(1, 2)) policy.wait_target = Duration::seconds(rng.between(2, 200));
}

// default | small | urgent; with chance 1/2 "small" and "lab" below "team", and "deep" two levels
// below "team".
PoolPolicy draw_pool(Rng& rng, const char* name) {
    PoolPolicy pool{name, "", {}, draw_order(rng), {}};
    if (rng.chance(1, 2)) pool.backfill.head = HeadOfLine::step_aside;
    pool.backfill.patience = Duration::seconds(rng.between(1, 60));
    draw_node_keeping(rng, pool.backfill);
    // with queues ordered by run time, because otherwise the mode has no effect
    if (rng.chance(1, 2)) {
        pool.preemption = {PreemptionMode::shortest, static_cast<std::int32_t>(rng.between(0, 100)),
                           static_cast<std::int32_t>(rng.between(100, 200))};
        draw_times(rng, pool.preemption);
        if (rng.chance(2, 3)) pool.order = QueueOrder::shortest;
        pool.backfill.patience = Duration::seconds(rng.between(1, 600));
    }
    const bool orders_by_run_time = pool.preemption.stops_by_run_time();
    pool.queues.push_back({"default", 0, 1, whole_gpus(0), std::nullopt});
    if (orders_by_run_time) pool.queues.back().order = QueueOrder::shortest;
    pool.queues.push_back(
        {"small", 0, 2, whole_gpus(rng.between(0, 2)), whole_gpus(rng.between(2, 8))});
    draw_limits(rng, pool.queues.back(), 6);
    if (orders_by_run_time) pool.queues.back().order = QueueOrder::shortest;
    if (rng.chance(1, 2)) {
        pool.queues.push_back({"urgent", 10, 1, whole_gpus(0), std::nullopt});
    }
    if (rng.chance(1, 2)) return pool;
    pool.queues[1].parent = "team";
    const auto add = [&](const char* queue, const char* parent, std::int64_t guaranteed) {
        pool.queues.push_back(
            {queue, 0, rng.between(1, 3), whole_gpus(guaranteed), std::nullopt, parent});
        if (rng.chance(1, 2)) pool.queues.back().maximum = whole_gpus(rng.between(4, 10));
        draw_limits(rng, pool.queues.back(), 8);
    };
    add("team", "", 6);
    add("lab", "team", rng.between(0, 2));
    if (rng.chance(1, 2)) {
        add("group", "team", 2);
        add("deep", "group", rng.between(0, 2));
    }
    return pool;
}

}  // namespace

Policy draw_policy(Rng& rng) {
    Policy policy;
    for (const char* name : {"default", "training"}) {
        policy.pools.push_back(draw_pool(rng, name));
    }
    if (rng.chance(1, 2)) policy.usage_half_life = Duration{rng.between(0, 20) * 60'000};
    if (rng.chance(1, 3)) {
        policy.ageing_step = 200'000;
        policy.ageing_every = Duration{rng.between(1'000, 30'000)};
    }
    if (rng.chance(1, 2)) {
        TenantPolicy tenant;
        tenant.name = "team-b";
        tenant.weight = rng.between(1, 3);
        tenant.gpu_maximum = whole_gpus(rng.between(1, 8));
        if (rng.chance(1, 2)) tenant.memory_maximum = Bytes{rng.between(8, 64) << 30};
        if (rng.chance(1, 3)) tenant.pools.push_back({"default", whole_gpus(rng.between(1, 6))});
        if (rng.chance(1, 4)) tenant.cpu_maximum = CpuMilli{rng.between(4'000, 32'000)};
        policy.tenants.push_back(std::move(tenant));
    }
    policy.pods_reserved_per_node = rng.between(0, 2);
    policy.gang_bind_deadline = Duration{rng.between(2'000, 30'000)};
    if (rng.chance(1, 2)) policy.run_time_protected = Duration{rng.between(0, 20'000)};
    policy.growth_pause = Duration{rng.between(0, 20'000)};
    policy.evictions_per_job_per_hour = static_cast<std::int32_t>(rng.between(0, 4));
    constexpr std::int32_t attempts[] = {1, 3, 10'000};
    policy.plan_attempts_max = attempts[rng.below(3)];
    return policy;
}

void draw_retention(Rng& rng, Policy& policy) {
    policy.finished_jobs_detailed = static_cast<std::int32_t>(rng.between(0, 3));
    policy.finished_jobs_maximum =
        policy.finished_jobs_detailed + static_cast<std::int32_t>(rng.between(0, 4));
    if (rng.chance(1, 2)) policy.finished_jobs_kept_for = Duration{rng.between(1'000, 120'000)};
}

void draw_guarantees(Rng& rng, Policy& policy) {
    for (PoolPolicy& pool : policy.pools) {
        if (rng.chance(2, 3)) pool.preemption.guarantees = GuaranteeRule::when_demand_fits;
    }
}

void draw_victims(Rng& rng, Policy& policy) {
    for (PoolPolicy& pool : policy.pools) {
        if (rng.chance(1, 3)) pool.preemption.victims = PreemptionVictims::preemptible;
    }
}

// Some queues do not lend all of their guarantee for a GPU model.
void draw_reserved_models(Rng& rng, Policy& policy) {
    for (PoolPolicy& pool : policy.pools) {
        for (QueuePolicy& queue : pool.queues) {
            if (queue.name == kDefaultQueue || !rng.chance(1, 2)) continue;
            if (queue.models.empty()) queue.models.push_back({kModels[rng.below(2)], {}, {}});
            ModelLimit& limit = queue.models.front();
            limit.guaranteed = whole_gpus(rng.between(1, 3));
            if (limit.maximum) limit.maximum = std::max(*limit.maximum, limit.guaranteed);
            queue.lending_limit = whole_gpus(rng.between(0, 1));
        }
    }
}

void draw_reserves(Rng& rng, Policy& policy) {
    for (PoolPolicy& pool : policy.pools) {
        if (!rng.chance(1, 2)) continue;
        if (rng.chance(1, 2)) {
            pool.reserve_percent = static_cast<std::int32_t>(rng.between(5, 50));
        } else {
            pool.reserve_gpus = whole_gpus(rng.between(1, 4));
        }
    }
}

// At least two GPUs at all times, so that overdrafts are paid back in the end. There are few
// different periods, so that some budgets continue when the policy changes.
void draw_budgets(Rng& rng, Instant start, Policy& policy) {
    constexpr std::int64_t periods_ms[] = {20'000, 60'000, 180'000};
    const auto draw = [&] {
        BudgetPolicy budget;
        budget.period = Duration{periods_ms[rng.below(3)]};
        budget.anchor = start;
        budget.amount = gpu_time(whole_gpus(rng.between(2, 6)), budget.period);
        if (rng.chance(1, 2)) budget.carry_over = GpuTime{budget.amount.value() / 2};
        return budget;
    };
    for (PoolPolicy& pool : policy.pools) {
        for (QueuePolicy& queue : pool.queues) {
            if (rng.chance(1, 4)) queue.budget = draw();
        }
    }
    for (const char* name : {"team-a", "team-b"}) {
        if (!rng.chance(1, 3)) continue;
        const auto known =
            std::find_if(policy.tenants.begin(), policy.tenants.end(),
                         [name](const TenantPolicy& tenant) { return tenant.name == name; });
        TenantPolicy& tenant =
            known == policy.tenants.end() ? policy.tenants.emplace_back() : *known;
        tenant.name = name;
        if (tenant.pools.empty()) tenant.pools.push_back({"default", std::nullopt});
        tenant.pools.front().budget = draw();
    }
}

void draw_maintenance(Rng& rng, Instant now, const std::vector<NodeFacts>& nodes, Policy& policy) {
    policy.unhealthy_drain = static_cast<Drain>(rng.below(3));
    policy.windows.clear();
    for (std::int64_t left = rng.between(1, 4); left > 0; --left) {
        MaintenanceWindow window;
        window.name = "window-" + std::to_string(left);
        if (rng.chance(1, 3)) {
            window.pool = rng.chance(1, 2) ? "default" : "training";
        } else {
            window.nodes.push_back(nodes[rng.below(nodes.size())].name);
            if (rng.chance(1, 3)) window.nodes.push_back(nodes[rng.below(nodes.size())].name);
        }
        window.begin = now + Duration{rng.between(0, 300'000)};
        window.length = Duration{rng.between(1'000, 60'000)};
        // Long gaps, so that every job with a run time limit fits between two windows.
        if (rng.chance(1, 3)) {
            window.every = window.length + Duration::seconds(rng.between(300, 600));
        }
        window.drain = static_cast<Drain>(rng.below(3));
        if (rng.chance(1, 2)) window.notice = Duration{rng.between(0, 60'000)};
        window.closes_ahead = Duration{rng.between(0, 60'000)};
        if (rng.chance(1, 3)) {
            constexpr const char* queues[] = {"default", "small", "team", "lab"};
            window.queues = {queues[rng.below(4)]};
        } else if (rng.chance(1, 4)) {
            window.tenants = {rng.chance(1, 2) ? "team-a" : "team-b"};
        }
        policy.windows.push_back(std::move(window));
    }
}

}  // namespace gpuctl::sim
