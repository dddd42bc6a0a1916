#include "scheduler/plan/start_estimate.hpp"

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class Starts : public testing::Test {
protected:
    void SetUp() override { world.add(node("a", 8)); }
    void submit(const std::string& name, std::int64_t gpus, std::int64_t limit_s) {
        world.now = world.now + Duration{1};
        PodFacts one = pod(name, name, gpus);
        one.run_time_max = Duration::seconds(limit_s);
        one.created_at = world.now;
        world.add(one);
        world.run();
    }
    void finish(const std::string& name, std::int64_t after_s) {
        world.now = world.now + Duration::seconds(after_s);
        world.pods.at(name).phase = PodPhase::succeeded;
        world.show(name);
        world.remove_pod(name);
        world.run();
    }
    StartEstimate of(const std::string& name) {
        return find_job(world.engine.state(), "team-a", name)->start.value_or(StartEstimate{});
    }
    [[nodiscard]] Instant in(std::int64_t seconds) const {
        return world.now + Duration::seconds(seconds);
    }
    EngineWorld world;
};

TEST_F(Starts, latest_is_what_the_limits_of_those_before_it_say) {
    submit("runs", 8, 100);
    submit("next", 8, 50);
    submit("then", 8, 10);
    const Instant begin = world.engine.state().pod(world.engine.state().find_pod("runs")).placed_at;
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(100));
    EXPECT_EQ(of("next").latest,
              world.engine.state().pool(world.engine.state().find_pool(kDefaultPool)).promise.at);
    EXPECT_EQ(of("then").latest, begin + Duration::seconds(150));
    EXPECT_EQ(of("then").likely, begin + Duration::seconds(150)) << "nothing but limits is known";
    EXPECT_EQ(of("then").earliest, world.now) << "anything may end at any moment";
    EXPECT_EQ(find_job(world.engine.state(), "team-a", "runs")->start, std::nullopt) << "it runs";
}

TEST_F(Starts, nothing_is_told_that_depends_on_work_without_limit_or_history) {
    submit("runs", 8, 0);
    submit("next", 8, 50);
    EXPECT_FALSE(of("next").latest.happened());
    EXPECT_FALSE(of("next").likely.happened());
    EXPECT_EQ(of("next").earliest, world.now);
}

TEST_F(Starts, history_narrows_the_band) {
    for (int i = 0; i < 20; ++i) {
        submit("past", 8, 1'000);
        finish("past", 100 + i);
    }
    submit("runs", 8, 1'000);
    submit("next", 8, 1'000);
    const Instant begin = world.engine.state().pod(world.engine.state().find_pod("runs")).placed_at;
    EXPECT_EQ(of("next").earliest, begin + Duration::seconds(101)) << "one in ten is over by then";
    EXPECT_EQ(of("next").likely, begin + Duration::seconds(109)) << "the median";
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(1'000)) << "the limit";
    world.now = begin + Duration::seconds(300);
    world.send(WokeUp{});
    EXPECT_EQ(of("next").likely, in(300)) << "it has outlasted them: as long again";
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(1'000));
}

TEST_F(Starts, survive_a_restart) {
    for (int i = 0; i < 20; ++i) {
        submit("past", 8, 1'000);
        finish("past", 100 + i);
    }
    submit("runs", 8, 1'000);
    submit("next", 8, 1'000);
    const StartEstimate before = of("next");
    Result<Engine> restored = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->state_hash(), world.engine.state_hash());
    world.engine = std::move(*restored);
    EXPECT_EQ(of("next"), before);
}

}  // namespace
}  // namespace gpuctl::test
