#pragma once
// The policy of a scenario: its lines `queues`, `policy`, `line` and `tenant`.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/engine_world.hpp"
#include "unit/scheduler/scenario/scenario_parts.hpp"

namespace gpuctl::test {

class ScenarioPolicy {
public:
    explicit ScenarioPolicy(EngineWorld& world) : world_(world) {}

    void change(const std::vector<std::string>& part) {
        if (policy_.pools.empty()) policy_.pools.push_back({"default", "", {}});
        if (part[0] == "order") policy_.pools.front().order = order_named(part[1]);
        if (part[0] == "evictions") policy_.evictions_per_job_per_hour = std::stoi(part[1]);
        if (part[0] == "protect") policy_.run_time_protected = Duration{std::stoll(part[1])};
        if (part[0] == "repair") policy_.gang_repair_deadline = Duration{std::stoll(part[1])};
        if (part[0] == "pause") policy_.growth_pause = Duration{std::stoll(part[1])};
        if (part[0] == "pays") policy_.resize_pays_within = Duration{std::stoll(part[1])};
        if (part[0] == "window") {
            policy_.windows.push_back(window_from({part.begin() + 1, part.end()}, world_.now));
        }
        if (part[0] == "no-windows") policy_.windows.clear();
        if (part[0] == "reserve") policy_.pools.front().reserve_percent = std::stoi(part[1]);
        if (part[0] == "drain-unhealthy") policy_.unhealthy_drain = drain_named(part[1]);
        if (part[0] == "guarantees") {
            const bool is_always = part[1] != "whenDemandFits";
            policy_.pools.front().preemption.guarantees =
                is_always ? GuaranteeRule::always : GuaranteeRule::when_demand_fits;
        }
        if (part[0] == "victims") {
            const bool asks_users = part[1] == "preemptible";
            policy_.pools.front().preemption.victims =
                asks_users ? PreemptionVictims::preemptible : PreemptionVictims::lower_priority;
        }
        if (part[0] == "halflife") policy_.usage_half_life = Duration{std::stoll(part[1])};
        if (part[0] == "ageing") {
            policy_.ageing_step = static_cast<std::int32_t>(std::stol(part[1]));
            policy_.ageing_every = Duration{std::stoll(part[3])};
            policy_.ageing_maximum = static_cast<std::int32_t>(std::stol(part[5]));
        }
        world_.set(policy_);
    }
    void add_queue(const std::vector<std::string>& part) {
        QueuePolicy queue;
        queue.name = part[0];
        for (std::size_t i = 1; i + 1 < part.size(); i += 2) {
            if (part[i] == "in") queue.parent = part[i + 1];
            if (part[i] == "order") queue.order = order_named(part[i + 1]);
            if (part[i] == "of") {  // of A100:4, of A100:4:2 with a guarantee
                const std::size_t colon = part[i + 1].find(':');
                const std::string amounts = part[i + 1].substr(colon + 1);
                const std::size_t more = amounts.find(':');
                ModelLimit limit{part[i + 1].substr(0, colon), {}, whole_gpus(std::stoll(amounts))};
                if (more != amounts.npos) {
                    limit.guaranteed = whole_gpus(std::stoll(amounts.substr(more + 1)));
                }
                queue.models.push_back(limit);
            }
            if (part[i] == "in" || part[i] == "order" || part[i] == "of") continue;
            const std::int64_t value = std::stoll(part[i + 1]);
            if (part[i] == "borrow") queue.borrowing_limit = whole_gpus(value);
            if (part[i] == "lend") queue.lending_limit = whole_gpus(value);
            if (part[i] == "jobs") queue.jobs_maximum = value;
            say_budget(part[i], value, queue.budget);
            if (part[i] == "perjob") queue.gpus_per_job_maximum = whole_gpus(value);
            if (part[i] == "prio") queue.priority = static_cast<std::int32_t>(value);
            if (part[i] == "weight") queue.weight = value;
            if (part[i] == "quota") queue.maximum = whole_gpus(value);
            if (part[i] == "guaranteed") queue.guaranteed = whole_gpus(value);
        }
        if (policy_.pools.empty()) policy_.pools.push_back({"default", "", {}, {}});
        std::erase_if(policy_.pools.front().queues,
                      [&](const QueuePolicy& known) { return known.name == queue.name; });
        policy_.pools.front().queues.push_back(queue);
        world_.set(policy_);
    }
    // For the pool "default".
    void set_line(const std::vector<std::string>& part) {
        if (policy_.pools.empty()) policy_.pools.push_back({"default", "", {}, {}});
        BackfillPolicy& backfill = policy_.pools.front().backfill;
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (part[i] == "steps-aside") {
                backfill.head = HeadOfLine::step_aside;
            } else if (part[i] == "short") {
                backfill.short_percent = static_cast<std::int32_t>(std::stol(part.at(++i)));
                backfill.short_run_time = Duration::seconds(std::stoll(part.at(++i)));
            } else if (part[i] == "patience") {
                backfill.patience = Duration::seconds(std::stoll(part.at(++i)));
            } else if (part[i] == "keep") {
                backfill.keep_after = Duration::seconds(std::stoll(part.at(++i)));
            } else if (part[i] == "shortest") {
                policy_.pools.front().preemption.mode = PreemptionMode::shortest;
            } else if (part[i] == "wait-target") {
                policy_.pools.front().preemption.wait_target =
                    Duration::seconds(std::stoll(part.at(++i)));
            } else if (part[i] == "due") {
                policy_.pools.front().preemption.mode = PreemptionMode::due;
            } else if (part[i] == "guarantees-when-demand-fits") {
                policy_.pools.front().preemption.guarantees = GuaranteeRule::when_demand_fits;
            } else if (part[i] == "makespan") {
                policy_.pools.front().preemption.makespan_percent =
                    static_cast<std::int32_t>(std::stol(part.at(++i)));
            } else {
                ADD_FAILURE() << "unknown word " << part[i];
            }
        }
        world_.set(policy_);
    }
    void add_tenant(const std::vector<std::string>& part) {
        TenantPolicy tenant;
        tenant.name = part[0];
        for (std::size_t i = 1; i + 1 < part.size(); i += 2) {
            if (part[i] == "quota") tenant.gpu_maximum = whole_gpus(std::stoll(part[i + 1]));
            if (part[i] == "weight") tenant.weight = std::stoll(part[i + 1]);
            if (part[i] == "queue") tenant.queue = part[i + 1];
            if (part[i] == "here") {
                tenant.pools = {{"default", whole_gpus(std::stoll(part[i + 1]))}};
            }
            if (part[i] == "budget") tenant.pools = {{"default", std::nullopt}};
            if (tenant.pools.empty() || part[i] == "queue") continue;
            say_budget(part[i], std::stoll(part[i + 1]), tenant.pools.front().budget);
        }
        std::erase_if(policy_.tenants,
                      [&](const TenantPolicy& known) { return known.name == tenant.name; });
        policy_.tenants.push_back(tenant);
        world_.set(policy_);
    }

private:
    // "budget 100 per 24 carry 10": GPU-hours, hours, GPU-hours; periods begin now.
    void say_budget(const std::string& word, std::int64_t value,
                    std::optional<BudgetPolicy>& budget) const {
        const GpuTime time = gpu_time(whole_gpus(1), Duration::seconds(value * 3600));
        if (word == "budget") budget = BudgetPolicy{time, kDay, world_.now, {}};
        if (word == "per") budget->period = Duration::seconds(value * 3600);
        if (word == "carry") budget->carry_over = time;
    }

    EngineWorld& world_;
    Policy policy_;
};

}  // namespace gpuctl::test
