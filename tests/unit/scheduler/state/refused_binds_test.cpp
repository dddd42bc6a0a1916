// Binds that the cluster refuses: when they are tried again, what they delay and what is reported.

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

TEST(Engine, a_refused_bind_is_tried_again_after_the_longest_pause_and_not_before) {
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

TEST(Engine, a_refused_bind_is_tried_again_at_once_when_the_pod_changes) {
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

TEST(Engine, a_refused_bind_does_not_delay_other_pods_of_its_job) {
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

TEST(Engine, the_reason_says_when_a_refused_bind_is_retried) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(pod("p", "p", 1));
    world.plan();
    world.answer("p", BindResult::refused);
    world.now = world.now + Duration::seconds(10);
    world.send(WokeUp{});
    const Explanation explanation = world.why("p").front();
    EXPECT_EQ(explanation.reason, Reason::bind_backoff);
    EXPECT_NE(
        wording::sentence(explanation).find("; next attempt in 50 s, or when the pod changes"),
        std::string::npos)
        << wording::sentence(explanation);
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

}  // namespace
}  // namespace gpuctl::test
