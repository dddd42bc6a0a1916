// Signals of jobs: the latest reading of each is kept, and no decision follows from it by itself.

#include <gtest/gtest.h>

#include "scheduler/engine/scale_proposals.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

const ObjectKey kJob{"team-a", "pod:one"};

JobSignal signal(SignalKind kind, std::optional<std::int64_t> milli, std::int64_t at_ms) {
    return {kJob, kind, {milli, Duration::seconds(60), Instant{at_ms}}};
}

struct SignalsTest : testing::Test {
    SignalsTest() {
        world.add(node("a", 8));
        world.add(pod("one", "pod:one", 1));
        world.run();
    }
    [[nodiscard]] std::optional<SignalReading> latest(SignalKind kind) const {
        return world.engine.state().signals.latest(kJob, kind);
    }
    EngineWorld world;
};

TEST_F(SignalsTest, the_newest_reading_of_each_signal_is_kept) {
    world.send(MetricsObserved{{signal(SignalKind::request_rate, 2'500, 900'000),
                                signal(SignalKind::gpu_busy, 700, 900'000)}});
    world.send(MetricsObserved{{signal(SignalKind::request_rate, 3'000, 960'000)}});
    world.send(MetricsObserved{{signal(SignalKind::request_rate, 9'000, 930'000)}});
    EXPECT_EQ(latest(SignalKind::request_rate)->milli, 3'000);
    EXPECT_EQ(latest(SignalKind::request_rate)->window, Duration::seconds(60));
    EXPECT_EQ(latest(SignalKind::gpu_busy)->milli, 700);
}

TEST_F(SignalsTest, never_observed_missing_and_zero_are_three_states) {
    EXPECT_FALSE(latest(SignalKind::request_rate).has_value());
    world.send(MetricsObserved{{signal(SignalKind::request_rate, std::nullopt, 900'000),
                                signal(SignalKind::gpu_busy, 0, 900'000)}});
    ASSERT_TRUE(latest(SignalKind::request_rate).has_value());
    EXPECT_FALSE(latest(SignalKind::request_rate)->milli.has_value());
    EXPECT_EQ(latest(SignalKind::gpu_busy)->milli, 0);
    world.send(MetricsObserved{{signal(SignalKind::gpu_busy, std::nullopt, 960'000)}});
    EXPECT_FALSE(latest(SignalKind::gpu_busy)->milli.has_value())
        << "an older value does not stand for a missing one";
}

TEST_F(SignalsTest, a_source_whose_clock_is_ahead_does_not_hide_its_later_readings) {
    world.send(MetricsObserved{{signal(SignalKind::gpu_busy, 100, 99'000'000)}});
    EXPECT_EQ(latest(SignalKind::gpu_busy)->observed_at, world.now);
    world.now = world.now + Duration::seconds(60);
    world.send(MetricsObserved{{signal(SignalKind::gpu_busy, 200, 99'060'000)}});
    EXPECT_EQ(latest(SignalKind::gpu_busy)->milli, 200);
}

TEST_F(SignalsTest, readings_of_unknown_jobs_kinds_and_times_are_ignored) {
    JobSignal unknown = signal(SignalKind::gpu_busy, 100, 900'000);
    unknown.job.name = "pod:two";
    JobSignal no_kind = signal(static_cast<SignalKind>(kSignalKinds), 100, 900'000);
    JobSignal backwards = signal(SignalKind::gpu_busy, 100, 900'000);
    backwards.reading.window = Duration{-1};
    world.send(
        MetricsObserved{{unknown, no_kind, backwards, signal(SignalKind::gpu_busy, 100, 0)}});
    EXPECT_TRUE(world.engine.state().signals.all().empty());
}

TEST_F(SignalsTest, an_event_counts_for_a_bounded_number_of_signals) {
    MetricsObserved event;
    event.signals.assign(kSignalsPerEventMax, signal(SignalKind::gpu_busy, 100, 900'000));
    event.signals.push_back(signal(SignalKind::request_rate, 100, 900'000));
    world.send(event);
    EXPECT_TRUE(latest(SignalKind::gpu_busy).has_value());
    EXPECT_FALSE(latest(SignalKind::request_rate).has_value());
}

TEST_F(SignalsTest, a_dropped_job_leaves_no_signals) {
    world.send(MetricsObserved{{signal(SignalKind::gpu_busy, 100, 900'000)}});
    world.remove_pod("one");
    EXPECT_TRUE(world.engine.state().signals.all().empty());
}

TEST_F(SignalsTest, readings_survive_a_restart_from_an_image) {
    world.send(MetricsObserved{{signal(SignalKind::request_rate, std::nullopt, 900'000),
                                signal(SignalKind::gpu_busy, 100, 900'000)}});
    const Result<Engine> restored = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->state().signals.all(), world.engine.state().signals.all());
    EXPECT_EQ(restored->state_hash(), world.engine.state_hash());
}

TEST_F(SignalsTest, an_observation_alone_asks_for_no_planning_and_has_no_effect) {
    ASSERT_FALSE(world.engine.wants_plan());
    world.send(MetricsObserved{{signal(SignalKind::requests_waiting, 50'000, 900'000)}});
    EXPECT_FALSE(world.engine.wants_plan());
    EXPECT_TRUE(world.last.empty());
    EXPECT_TRUE(world.engine.last_scale_proposals().empty()) << "no rule is configured";
}

// The engine's rules are none; with a rule the same path gives a proposal.
TEST_F(SignalsTest, each_observed_job_is_handed_to_the_rules_once_with_its_readings) {
    const MetricsObserved event{{signal(SignalKind::requests_waiting, 7'000, 900'000),
                                 signal(SignalKind::gpu_busy, 100, 900'000)}};
    world.send(event);
    const JobId job = world.engine.state().jobs.find_job(kJob);
    const scale::ScaleInput input = scale_input(world.engine.state(), job);
    ASSERT_EQ(input.signals.size(), 2u);
    EXPECT_EQ(input.signals[0].kind, SignalKind::requests_waiting);
    EXPECT_EQ(input.signals[0].reading.milli, 7'000);
    EXPECT_EQ(input.replicas, 1);
    const scale::ScaleRule more{
        SignalKind::requests_waiting,
        [](const scale::ScaleInput& of, const SignalReading&) -> std::optional<std::int64_t> {
            return of.replicas + 1;
        }};
    EXPECT_TRUE(scale_proposals(world.engine.state(), event, {&more, 1}).empty())
        << "the size of a lone pod is fixed";
}

}  // namespace
}  // namespace gpuctl::test
