// Replays run on named policies, so their figures are of configurations that an operator can write.

#include <gtest/gtest.h>

#include "bench/replay/command_line.hpp"
#include "bench/replay/policies/engine_setup.hpp"
#include "scheduler/model/policy/named_policy.hpp"

namespace gpuctl::replay {
namespace {

constexpr Suite kEngineSuites[] = {Suite::philly64, Suite::backfill, Suite::elastic,
                                   Suite::fairness, Suite::vc};

Trace trace_with_owners() {
    Trace trace;
    Owner owner;
    owner.name = "a";
    owner.quota_gpus = 8;
    trace.owners.push_back(owner);
    return trace;
}

TEST(ReplayPolicies, every_suite_runs_on_the_numbers_of_one_named_policy) {
    for (const Suite suite : kEngineSuites) {
        const NamedPolicy* named = find_named_policy(named_policy_of(suite));
        ASSERT_NE(named, nullptr) << name_of(suite);
        const auto setup = engine_setup_for(suite, {}, trace_with_owners());
        ASSERT_TRUE(setup) << name_of(suite);
        const PoolPolicy& pool = setup->policy.pools.at(0);
        EXPECT_EQ(pool.order, named->order) << name_of(suite);
        EXPECT_EQ(pool.backfill, named->backfill) << name_of(suite);
        EXPECT_EQ(pool.preemption, named->preemption) << name_of(suite);
        for (const QueuePolicy& queue : pool.queues) EXPECT_EQ(queue.order, named->order);
        gpuctl::Policy rest = setup->policy;
        rest.pools.clear();
        gpuctl::Policy expected;
        expected.evictions_per_job_per_hour = named->evictions_per_job_per_hour;
        EXPECT_EQ(rest, expected) << name_of(suite) << " sets a number of its own";
    }
}

TEST(ReplayPolicies, each_named_policy_has_a_suite) {
    for (const NamedPolicy& named : named_policies()) {
        bool is_replayed = false;
        for (const Suite suite : kEngineSuites) {
            is_replayed = is_replayed || named_policy_of(suite) == named.name;
        }
        EXPECT_TRUE(is_replayed) << named.name;
    }
}

TEST(ReplayPolicies, another_name_and_single_numbers_can_be_tried) {
    EngineChoice choice;
    choice.named_policy = "throughput";
    choice.makespan_percent = 0;
    choice.gain_percent = 150;
    choice.gpu_exponent_percent = 90;
    const auto setup = engine_setup_for(Suite::backfill, choice, {});
    ASSERT_TRUE(setup);
    PreemptionPolicy expected = find_named_policy("throughput")->preemption;
    expected.makespan_percent = 0;
    expected.gain_percent = 150;
    expected.gpu_exponent_percent = 90;
    EXPECT_EQ(setup->policy.pools.at(0).preemption, expected);
}

TEST(ReplayPolicies, an_unknown_name_is_wrong_usage) {
    const Answer answer = answer_command({"backfill", "--jobs", "x.csv", "--named-policy", "fast"});
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.complaint.find("balanced"), std::string::npos) << answer.complaint;
}

}  // namespace
}  // namespace gpuctl::replay
