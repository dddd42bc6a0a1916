// What a policy may say beside its queues: budgets, reserves, windows, who keeps what; each from a
// stream of its own (options.hpp).

#include "sim/swarm/options.hpp"

#include <algorithm>

namespace gpuctl::sim {

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

void draw_beside_gpus(Rng& rng, JobSpec& spec) {
    const bool takes_none = rng.chance(1, 3);
    const CpuMilli cpu{rng.between(500, 4'000)};
    const bool is_preemptible = rng.chance(2, 3);
    if (!takes_none) return;
    spec.gpu = {};
    spec.cpu = cpu;
    spec.preemptible = spec.preemptible || is_preemptible;
}

// Some of what they are guaranteed of a GPU model, queues do not lend.
void draw_kept_models(Rng& rng, Policy& policy) {
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

// Of at least two GPUs at all times, so that whatever was overdrawn is made good in the end. The
// same few periods, so that some budgets go on when the policy changes.
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
        // Long enough between two that whatever has a limit finds its time.
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
