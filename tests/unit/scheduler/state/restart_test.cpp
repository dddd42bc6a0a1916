// What a restart must not change and once did: each case was found by the property
// an_image_taken_at_any_point_has_the_same_future.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// The end of a job's refusals is not part of the image: its cached value must always be that of its
// pods, or a restarted engine sets other timers (seed 19062473345674485, image at step 32).
TEST(Engine, the_end_of_a_refusal_is_removed_with_its_pod) {
    EngineWorld world;
    EngineWorld restarted;
    for (EngineWorld* one : {&world, &restarted}) {
        one->add(node("a", 8));
        one->add({pod("p", "j", 1), pod("q", "j", 1)});
        one->plan();
        one->answer("q", BindResult::bound);
        one->answer("p", BindResult::refused);
        one->plan();
        one->remove_pod("p");
    }
    Result<Engine> restored = Engine::import_state(restarted.engine.export_state());
    ASSERT_TRUE(restored);
    restarted.engine = std::move(*restored);
    world.plan();
    restarted.plan();
    EXPECT_EQ(world.engine.state_hash(), restarted.engine.state_hash());
}

// With several pools, a job that waits for the quota of its namespace is tried again when a node
// changes. Regression: a restart dropped a pool whose last node had been removed, and one pool was
// left.
TEST(Engine, a_pool_without_nodes_and_jobs_survives_a_restart) {
    Policy policy;
    policy.tenants.emplace_back();
    policy.tenants.front().name = "team-a";
    policy.tenants.front().gpu_maximum = whole_gpus(4);
    EngineWorld world;
    EngineWorld restarted;
    for (EngineWorld* one : {&world, &restarted}) {
        one->set(policy);
        one->add(node("a", 8));
        one->add(node("b", 8, "other"));
        one->remove_node("b");
        one->add(pod("p", "p", 4));
        one->add(pod("q", "q", 1));
        one->plan();
        EXPECT_EQ(one->why("q").front().reason, Reason::tenant_quota);
    }
    Result<Engine> restored = Engine::import_state(restarted.engine.export_state());
    ASSERT_TRUE(restored);
    restarted.engine = std::move(*restored);
    for (EngineWorld* one : {&world, &restarted}) {
        NodeFacts cordoned = node("a", 8);
        cordoned.unschedulable = true;
        one->add(cordoned);
    }
    EXPECT_EQ(world.engine.state_hash(), restarted.engine.state_hash());
}

}  // namespace
}  // namespace gpuctl::test
