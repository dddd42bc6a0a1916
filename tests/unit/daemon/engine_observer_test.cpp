// The calls that observers of the engine loop get, and their order.

#include "daemon/core/metrics_observer.hpp"
#include "unit/daemon/engine_world.hpp"

namespace gpuctl::core {
namespace {

using metrics::Metric;

// Writes its calls into the same list as the journal and the cluster.
class StoryObserver final : public ports::EngineObserver {
public:
    explicit StoryObserver(Story& story) : story_(story) {}
    void on_input(const Input& input) override {
        sequences.push_back(static_cast<std::uint64_t>(input.sequence));
        story_.push_back("input " + std::to_string(input.event.index()));
    }
    void on_effect(const Effect& effect, Instant) override {
        story_.push_back("seen " + std::to_string(effect.index()));
    }
    void on_phase(ports::EnginePhase phase, std::size_t count, Span) override {
        if (phase == ports::EnginePhase::journal) journaled += count;
        story_.push_back("phase " + std::to_string(static_cast<int>(phase)));
    }
    void on_turned_away() override { ++turned_away; }
    void on_synced(Span) override { story_.push_back("synced"); }
    void on_broken(const Error& error) override { broken = error.message; }

    std::vector<std::uint64_t> sequences;
    std::size_t journaled = 0;
    int turned_away = 0;
    std::string broken;

private:
    Story& story_;
};

const std::string kInputSubmit = "input " + std::to_string(kSubmitted);
const std::string kSeenCreate = "seen " + std::to_string(kCreateWorkload);

aio::Task<void> observe_a_submit(World& world) {
    StoryObserver observer{world.story};
    world.engine.observe(observer);
    const auto answer = world.start_submit("llm");
    const bool created = co_await world.until(
        [&] { return world.happened("effect " + std::to_string(kCreateWorkload)); });
    EXPECT_TRUE(created);
    world.journal.finish_syncs(Result<void>{});
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    EXPECT_LT(world.place_of("append " + std::to_string(kSubmitted)), world.place_of(kInputSubmit));
    EXPECT_LT(world.place_of("flush"), world.place_of(kSeenCreate));
    EXPECT_LT(world.place_of(kSeenCreate),
              world.place_of("effect " + std::to_string(kCreateWorkload)));
    EXPECT_TRUE(world.happened("synced"));
    // Every journaled input, once, in order.
    const std::size_t before = world.journal.inputs.size() - observer.sequences.size();
    for (std::size_t i = 0; i < observer.sequences.size(); ++i) {
        EXPECT_EQ(observer.sequences[i],
                  static_cast<std::uint64_t>(world.journal.inputs[before + i].sequence));
    }
    EXPECT_EQ(observer.journaled, 1u) << "planning passes are no inputs of a batch";
    EXPECT_EQ(observer.turned_away, 0);
}

TEST(EngineObserver, sees_inputs_after_the_journal_and_effects_before_the_cluster) {
    World{}.run(observe_a_submit);
}

const std::string kPlanIndex = std::to_string(Event{Plan{}}.index());

std::string phase_text(ports::EnginePhase phase) {
    return "phase " + std::to_string(static_cast<int>(phase));
}

PodFacts waiting_pod() {
    PodFacts pod;
    pod.uid = "waiting";
    pod.key = {"default", "waiting"};
    pod.job = "waiting";
    pod.ours = true;
    return pod;
}

aio::Task<void> observe_a_plan(World& world) {
    StoryObserver observer{world.story};
    world.engine.observe(observer);
    const PodObserved pod{waiting_pod()};
    const std::string index = std::to_string(Event{pod}.index());
    EXPECT_TRUE(world.engine.offer(pod));
    const auto is_effect = [](const std::string& call) { return call.starts_with("seen "); };
    const bool sent =
        co_await world.until([&] { return std::ranges::any_of(world.story, is_effect); });
    EXPECT_TRUE(sent);
    const auto first_effect = std::ranges::find_if(world.story, is_effect);
    EXPECT_EQ(
        (Story{world.story.begin(), first_effect}),
        (Story{"append " + index, "flush", phase_text(ports::EnginePhase::journal),
               "input " + index, phase_text(ports::EnginePhase::apply), "append " + kPlanIndex,
               "input " + kPlanIndex, phase_text(ports::EnginePhase::plan), "flush"}));
}

TEST(EngineObserver, sees_a_planning_pass_before_it_is_written_and_its_effects_after) {
    World{}.run(observe_a_plan);
}

aio::Task<void> observe_a_plan_that_is_not_written(World& world) {
    StoryObserver observer{world.story};
    world.engine.observe(observer);
    world.journal.flushes_left = 1;
    EXPECT_TRUE(world.engine.offer(PodObserved{waiting_pod()}));
    const bool broken = co_await world.until([&] { return world.engine.broken().has_value(); });
    EXPECT_TRUE(broken);
    EXPECT_TRUE(world.happened("input " + kPlanIndex));
    EXPECT_TRUE(world.cluster.effects.empty()) << "no effect leaves before its inputs are written";
}

TEST(EngineObserver, sees_no_effect_of_a_planning_pass_that_was_not_written) {
    World{}.run(observe_a_plan_that_is_not_written);
}

aio::Task<void> observe_a_full_mailbox(World& world) {
    StoryObserver observer{world.story};
    world.engine.observe(observer);
    int taken = 0;
    while (world.engine.offer(WokeUp{}) && taken < 100) ++taken;
    EXPECT_EQ(taken, 8);
    EXPECT_EQ(observer.turned_away, 1);
    EXPECT_EQ(world.recorder.counter(Metric::mailbox_refused).value(), 1u);
    co_return;
}

TEST(EngineObserver, is_called_for_an_event_that_a_full_mailbox_refused) {
    EngineLoopSettings settings;
    settings.queue_max = 8;
    World{settings}.run(observe_a_full_mailbox);
}

aio::Task<void> observe_a_broken_journal(World& world) {
    StoryObserver observer{world.story};
    world.engine.observe(observer);
    world.journal.append_fails = true;
    EXPECT_TRUE(world.engine.offer(WokeUp{}));
    const bool broken = co_await world.until([&] { return world.engine.broken().has_value(); });
    EXPECT_TRUE(broken);
    EXPECT_EQ(observer.broken, "no space left on device");
    EXPECT_TRUE(observer.sequences.empty()) << "the engine did not take it";
    EXPECT_EQ(world.recorder.gauge(Metric::journal_failed).value(), 1);
}

TEST(EngineObserver, sees_no_input_that_the_journal_did_not_take) {
    World{}.run(observe_a_broken_journal);
}

TEST(MetricsObserver, a_bind_is_in_flight_until_its_outcome_is_an_input) {
    metrics::Recorder recorder;
    MetricsObserver observer{recorder};
    BindPod bind;
    bind.id = EffectId{3};
    observer.on_effect(bind, Instant{1});
    EXPECT_EQ(recorder.gauge(Metric::binds_in_flight).value(), 1);
    BindOutcome outcome;
    outcome.effect = EffectId{3};
    outcome.result = BindResult::elsewhere;
    observer.on_input(Input{Sequence{1}, Instant{2}, 0, outcome});
    EXPECT_EQ(recorder.gauge(Metric::binds_in_flight).value(), 0);
    EXPECT_EQ(recorder.histogram(Metric::bind_latency, {"elsewhere"}).count(), 1u);
    EXPECT_EQ(recorder.counter(Metric::effects, {"BindPod"}).value(), 1u);
    EXPECT_EQ(recorder.counter(Metric::inputs, {"BindOutcome"}).value(), 1u);
}

TEST(MetricsObserver, a_rescue_of_the_journal_counts_as_an_export_on_the_loop) {
    metrics::Recorder recorder;
    MetricsObserver observer{recorder};
    observer.on_snapshot(ports::SnapshotResult::written);
    EXPECT_EQ(recorder.counter(Metric::loop_exports).value(), 0u);
    observer.on_snapshot(ports::SnapshotResult::rescue_failed);
    EXPECT_EQ(recorder.counter(Metric::loop_exports).value(), 1u);
    EXPECT_EQ(recorder.counter(Metric::journal_snapshots, {"ok"}).value(), 1u);
    EXPECT_EQ(recorder.counter(Metric::journal_snapshots, {"failed"}).value(), 1u);
}

}  // namespace
}  // namespace gpuctl::core
