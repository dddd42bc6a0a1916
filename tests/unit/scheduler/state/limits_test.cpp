// Properties of every row of the table of limits (docs/adr/0040). A new limit that a queue or a
// namespace can be given needs its value in `tight()` here.

#include "scheduler/state/accounts/limits.hpp"

#include <gtest/gtest.h>

#include <set>

#include "scheduler/state/accounts/limits/limit_table.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

BudgetPolicy small_budget() {
    BudgetPolicy out;
    out.amount = GpuTime{1};
    return out;
}

// Every limit that a user can set, below the request of a job of two GPUs.
Policy tight() {
    QueuePolicy queue;
    queue.name = kDefaultQueue;
    queue.guaranteed = GpuMilli{0};
    queue.maximum = whole_gpus(1);
    queue.borrowing_limit = whole_gpus(1);
    queue.jobs_maximum = 0;
    queue.gpus_per_job_maximum = whole_gpus(1);
    queue.models.push_back({"A100", GpuMilli{0}, whole_gpus(1)});
    queue.budget = small_budget();
    Policy policy;
    PoolPolicy pool{kDefaultPool, "", {}};
    pool.queues = {queue};
    policy.pools = {pool};
    TenantPolicy tenant;
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(1);
    tenant.cpu_maximum = CpuMilli{1};
    tenant.memory_maximum = Bytes{1};
    tenant.pools.push_back({kDefaultPool, whole_gpus(1), small_budget()});
    policy.tenants = {tenant};
    return policy;
}

struct Asked {
    EngineWorld world;

    explicit Asked(const Policy& policy) {
        // No node has room for the pod, so it requests capacity and holds none under any policy.
        world.add(node("a", 1));
        world.add(node("b", 1));
        world.set(policy);
        world.add(pod("p", "j", 2));
        world.plan();
    }
    [[nodiscard]] const ClusterState& state() const { return world.engine.state(); }
    [[nodiscard]] const JobRow& job() const {
        return state().job(state().jobs.find_job({"team-a", "j"}));
    }
    [[nodiscard]] Load requested_load() const {
        return load_of(state(), {job().pods.begin(), job().pods.end()});
    }
    [[nodiscard]] std::vector<LimitHit> hits() const {
        std::vector<LimitHit> out;
        visit_limits(state(), job(), requested_load(), [&out](const LimitHit& hit) {
            out.push_back(hit);
            return true;
        });
        visit_model_limits(state(), job(), requested_load(),
                           [&out](const LimitHit& hit) { out.push_back(hit); });
        return out;
    }
};

std::set<std::string_view> names_of(const std::vector<LimitHit>& hits) {
    std::set<std::string_view> out;
    for (const LimitHit& hit : hits) out.insert(limit_row(hit.kind).name);
    return out;
}

TEST(Limits, every_limit_that_a_user_can_raise_is_hit_where_it_is_too_low) {
    const std::set<std::string_view> hit = names_of(Asked{tight()}.hits());
    for (const LimitRow& row : kLimits) {
        EXPECT_EQ(hit.contains(row.name), row.raise != nullptr) << row.name;
    }
}

TEST(Limits, a_limit_raised_to_what_is_held_and_needed_is_not_hit) {
    Policy policy = tight();
    const Asked low{policy};
    for (const LimitHit& hit : low.hits()) {
        LimitRaise in{hit, nullptr, nullptr, kDefaultPool};
        if (hit.queue.exists()) {
            in.queue = &policy.pools.front().queues.front();
        } else {
            in.tenant = &policy.tenants.front();
        }
        EXPECT_EQ(limit_row(hit.kind).raise(in, hit.held + hit.needed), hit.limit);
    }
    EXPECT_EQ(names_of(Asked{policy}.hits()), std::set<std::string_view>{});
}

TEST(Limits, a_hit_leaves_less_than_is_needed) {
    for (const LimitHit& hit : Asked{tight()}.hits()) {
        EXPECT_GT(hit.held + hit.needed, hit.limit) << limit_row(hit.kind).name;
    }
}

TEST(Limits, the_walk_ends_when_the_visitor_has_enough) {
    const Asked asked{tight()};
    int visits = 0;
    visit_limits(asked.state(), asked.job(), asked.requested_load(),
                 [&visits](const LimitHit&) { return ++visits < 3; });
    EXPECT_EQ(visits, 3);
}

TEST(Limits, every_row_is_named_and_found_by_its_kind) {
    std::set<std::string_view> names;
    for (const LimitRow& row : kLimits) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(&limit_row(row.kind), &row);
        EXPECT_NE(row.read, nullptr) << row.name;
    }
}

}  // namespace
}  // namespace gpuctl::test
