// Binds that the cluster refuses: when they are tried again, what that holds up and what is told.

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

TEST(Engine, M6_a_refused_bind_is_tried_again_after_the_longest_pause_and_not_before) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    for (int again = 0; again < 3; ++again) {
        world.answer("p", BindResult::refused);
        world.plan();
        EXPECT_EQ(world.node_of("p"), "") << "it keeps no room meanwhile";
        ASSERT_FALSE(world.sent<WakeAt>().empty());
        const Duration pause = world.policy.backoff_maximum;
        EXPECT_EQ(world.sent<WakeAt>().back().at, world.now + pause);
        world.now = world.now + (pause - Duration{1});
        world.send(WokeUp{});
        world.plan();
        EXPECT_TRUE(world.pending.empty());
        world.now = world.now + Duration{1};
        world.send(WokeUp{});
        world.plan();
        EXPECT_TRUE(world.pending.contains("p"));
    }
}

TEST(Engine, M6_a_refused_bind_is_tried_again_at_once_when_the_pod_changes) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    world.answer("p", BindResult::refused);
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    world.pods.at("p").priority = 5;
    world.show("p");
    world.plan();
    EXPECT_EQ(world.pending.size(), 1U);
}

TEST(Engine, one_refused_pod_does_not_hold_the_others_of_its_job) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "set", 1));
    world.plan();
    world.answer("p", BindResult::refused);
    world.add(pod("q", "set", 1));
    world.plan();
    EXPECT_TRUE(world.pending.contains("q"));
    EXPECT_FALSE(world.pending.contains("p"));
}

TEST(Engine, when_a_refused_bind_is_tried_again_is_told) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    world.answer("p", BindResult::refused);
    world.now = world.now + Duration::seconds(10);
    world.send(WokeUp{});
    const Explanation told = world.why("p").front();
    EXPECT_EQ(told.reason, Reason::bind_backoff);
    EXPECT_NE(told.sentence.find("; it is tried again in 50 s, or when the pod changes"),
              std::string::npos)
        << told.sentence;
}

TEST(Engine, the_pause_after_a_refused_bind_survives_export_and_import) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    world.answer("p", BindResult::refused);
    world.plan();
    Result<Engine> restored = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->state_hash(), world.engine.state_hash());
    world.engine = std::move(*restored);
    world.now = world.now + (world.policy.backoff_maximum - Duration{1});
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.pending.empty());
    world.now = world.now + Duration{1};
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.pending.contains("p"));
}

// The end of a job's refusals is no part of the image: what is kept of it must at any time be what
// its pods say, or an engine that was restarted sets other timers (found by the property
// an_image_taken_at_any_point_has_the_same_future with seed 19062473345674485, image at step 32).
TEST(Engine, the_end_of_a_refusal_goes_with_the_pod_that_was_refused) {
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

}  // namespace
}  // namespace gpuctl::test
