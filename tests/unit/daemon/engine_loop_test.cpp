// The loop's promises, on a journal and a cluster that do what the test says.

#include "daemon/core/engine_loop.hpp"

#include <gtest/gtest.h>

namespace gpuctl::core {
namespace {

// What happened, in order: "append JobSubmitted", "flush", "sync", "effect CreateWorkload".
using Story = std::vector<std::string>;

class ScriptedJournal final : public journal::Journal {
public:
    explicit ScriptedJournal(Story& story) : story_(story) {}

    Result<void> append(const Input& input) override {
        const bool is_plan = std::holds_alternative<Plan>(input.event);
        if (append_fails || (plan_fails && is_plan) || appends_left == 0) {
            return make_error(ErrorCode::JournalFailed, "no space left on device");
        }
        --appends_left;
        inputs.push_back(input);
        story_.push_back("append " + std::to_string(input.event.index()));
        return {};
    }
    Result<void> flush() override {
        if (flush_fails) return make_error(ErrorCode::JournalFailed, "no space left on device");
        story_.push_back("flush");
        return {};
    }
    void sync(std::function<void(Result<void>)> done) override {
        story_.push_back("sync");
        waiting.push_back(std::move(done));
    }
    [[nodiscard]] bool is_segment_full() const override { return false; }
    void roll(std::function<void(Result<void>)> done) override { done({}); }
    Result<void> write_snapshot(const Engine&, Sequence) override {
        ++snapshots;
        return {};
    }
    [[nodiscard]] journal::JournalPlace place() const override { return {}; }
    Result<void> close() override { return {}; }
    [[nodiscard]] Figures figures() const override { return {}; }

    void finish_syncs(const Result<void>& result) {
        for (auto& done : std::exchange(waiting, {})) done(result);
    }

    std::vector<Input> inputs;
    std::vector<std::function<void(Result<void>)>> waiting;
    bool append_fails = false;
    int appends_left = -1;  // then they fail; negative: never
    bool plan_fails = false;
    bool flush_fails = false;
    int snapshots = 0;

private:
    Story& story_;
};

class ScriptedCluster final : public ports::Cluster, public ports::LogSource {
public:
    explicit ScriptedCluster(Story& story) : story_(story) {}
    void start(ports::EventSink&) override {}
    void carry_out(const Effect& effect) override {
        story_.push_back("effect " + std::to_string(effect.index()));
        effects.push_back(effect);
        if (called) called(effect);
    }
    [[nodiscard]] std::vector<ports::HealthLine> health() const override { return {}; }
    [[nodiscard]] ports::LogSource& logs() override { return *this; }
    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest,
                                                              aio::Deadline) override {
        co_return make_error(ErrorCode::NotFound, "no logs here");
    }
    aio::Task<Result<std::string>> cluster_id(aio::Deadline) override { co_return "id"; }
    aio::Task<Result<void>> try_create(JobRecord, Epoch) override { co_return Result<void>{}; }
    aio::Task<Result<std::string>> controller_trouble(ObjectKey, aio::Deadline) override {
        co_return std::string{};
    }
    aio::Task<void> hand_over(aio::Deadline) override { co_return; }
    aio::Task<bool> stop(aio::Deadline) override { co_return true; }

    std::vector<Effect> effects;
    std::function<void(const Effect&)> called;  // while the loop hands the effect over

private:
    Story& story_;
};

constexpr std::size_t kSubmitted = 7;       // index of JobSubmitted in Event
constexpr std::size_t kCreateWorkload = 2;  // index of CreateWorkload in Effect
static_assert(std::is_same_v<std::variant_alternative_t<kSubmitted, Event>, JobSubmitted>);
static_assert(std::is_same_v<std::variant_alternative_t<kCreateWorkload, Effect>, CreateWorkload>);

struct World {
    using Body = aio::Task<void> (*)(World&);

    explicit World(EngineLoopSettings settings = {})
        : journal(story),
          cluster(story),
          engine(loop, journal, Engine{}, Sequence{1}, settings, recorder) {}

    void run(Body body) {
        tasks.spawn("test body", whole(body));
        const std::function<void()> quit = [&] {
            if (tasks.size() == 0) return loop.stop();
            loop.post(quit);
        };
        quit_when_idle = quit;
        loop.run();
    }

    aio::Task<void> whole(Body body) {
        engine.start(cluster);
        engine.change_policy(Policy{});
        EXPECT_TRUE(engine.offer(NodeObserved{node()}));
        EXPECT_TRUE(engine.offer(LeadershipChanged{true, Epoch{1}}));
        EXPECT_TRUE(engine.offer(CacheSynced{}));
        const bool ready = co_await until([this] { return engine.synced(); });
        EXPECT_TRUE(ready);
        story.clear();
        co_await body(*this);
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{10});
        co_await engine.stop(deadline);
        journal.finish_syncs(Result<void>{});
        loop.post(quit_when_idle);
    }

    static NodeFacts node() {
        NodeFacts facts;
        facts.name = "node-0";
        facts.pool = "default";
        facts.allocatable.cpu = CpuMilli{64'000};
        facts.allocatable.memory = Bytes{std::int64_t{512} << 30};
        facts.allocatable.pods = 110;
        return facts;
    }

    static JobRecord job(const std::string& name) {
        JobRecord record;
        record.uid = "uid-of-" + name;
        record.spec.key = {"default", name};
        record.spec.image = "repo/image:1";
        record.spec.cpu = CpuMilli{1'000};
        record.spec.memory = Bytes{1 << 30};
        return record;
    }

    aio::Task<bool> until(std::function<bool()> condition) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{20});
        while (!condition()) {
            if (deadline.passed()) co_return false;
            const aio::Deadline soon = aio::Deadline::in(std::chrono::milliseconds{1});
            co_await aio::sleep_until(soon);
        }
        co_return true;
    }

    // The answer to a submit, once there is one.
    aio::Task<void> submit(std::string name, std::shared_ptr<std::optional<Result<void>>> answer) {
        const aio::Deadline deadline = aio::Deadline::in(submit_deadline);
        Result<void> result = co_await engine.submit(job(name), deadline);
        *answer = result;
    }
    std::shared_ptr<std::optional<Result<void>>> start_submit(const std::string& name) {
        auto answer = std::make_shared<std::optional<Result<void>>>();
        tasks.spawn("submit " + name, submit(name, answer));
        return answer;
    }

    [[nodiscard]] std::ptrdiff_t place_of(const std::string& what) const {
        return std::find(story.begin(), story.end(), what) - story.begin();
    }
    [[nodiscard]] bool happened(const std::string& what) const {
        return place_of(what) != std::ssize(story);
    }

    aio::Loop loop;
    Story story;
    ScriptedJournal journal;
    ScriptedCluster cluster;
    metrics::Recorder recorder;
    EngineLoop engine;
    aio::TaskGroup tasks{loop};
    std::function<void()> quit_when_idle;
    std::chrono::milliseconds submit_deadline{20'000};
};

const std::string kAppendSubmit = "append " + std::to_string(kSubmitted);
const std::string kEffectCreate = "effect " + std::to_string(kCreateWorkload);

aio::Task<void> submit_one(World& world) {
    const auto answer = world.start_submit("llm");
    const bool created = co_await world.until([&] { return world.happened(kEffectCreate); });
    EXPECT_TRUE(created);
    EXPECT_LT(world.place_of(kAppendSubmit), world.place_of("flush"));
    EXPECT_LT(world.place_of("flush"), world.place_of(kEffectCreate));
    EXPECT_TRUE(world.happened("sync"));
    EXPECT_FALSE(*answer) << "nothing is acknowledged before it is on disk";
    world.journal.finish_syncs(Result<void>{});
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    EXPECT_TRUE(answered && answer->value());
}

TEST(EngineLoop, effects_leave_after_the_flush_and_answers_after_the_sync) {
    World{}.run(submit_one);
}

aio::Task<void> submit_needing_workload(World& world) {
    const auto good = world.start_submit("good");
    const auto bad = world.start_submit("bad");
    const auto slow = world.start_submit("slow");
    const bool sent = co_await world.until([&] { return world.cluster.effects.size() == 3; });
    EXPECT_TRUE(sent);
    world.journal.finish_syncs(Result<void>{});
    EXPECT_FALSE(*good);
    EXPECT_TRUE(world.engine.offer(
        WorkloadOutcome{EffectId{}, {"default", "bad"}, false, false, "quota exceeded"}));
    EXPECT_TRUE(
        world.engine.offer(WorkloadOutcome{EffectId{}, {"default", "slow"}, false, true, "busy"}));
    EXPECT_TRUE(
        world.engine.offer(WorkloadOutcome{EffectId{}, {"default", "good"}, true, false, ""}));
    const bool answered =
        co_await world.until([&] { return good->has_value() && bad->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_TRUE(good->value());
    EXPECT_EQ(bad->value().error().code, ErrorCode::ClusterUnavailable);
    EXPECT_NE(bad->value().error().message.find("quota exceeded"), std::string::npos);
    EXPECT_FALSE(*slow) << "what is tried again is not answered yet";
    EXPECT_TRUE(
        world.engine.offer(WorkloadOutcome{EffectId{}, {"default", "slow"}, true, false, ""}));
    const bool slow_answered = co_await world.until([&] { return slow->has_value(); });
    EXPECT_TRUE(slow_answered && slow->value());
}

TEST(EngineLoop, with_an_api_server_the_answer_waits_for_both) {
    EngineLoopSettings settings;
    settings.wait_for_workload = true;
    World{settings}.run(submit_needing_workload);
}

aio::Task<void> time_out(World& world) {
    world.submit_deadline = std::chrono::milliseconds{30};
    const auto answer = world.start_submit("llm");
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (answered) {
        EXPECT_EQ(answer->value().error().code, ErrorCode::UnknownOutcome);
    }
}

TEST(EngineLoop, a_submit_that_is_not_confirmed_in_time_says_that_it_may_be_stored) {
    World{}.run(time_out);
}

aio::Task<void> fail_to_append(World& world) {
    world.journal.append_fails = true;
    const auto answer = world.start_submit("llm");
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (!answered) co_return;
    EXPECT_EQ(answer->value().error().code, ErrorCode::JournalFailed);
    EXPECT_TRUE(world.engine.broken());
    EXPECT_TRUE(world.cluster.effects.empty()) << "nothing is done that is not written down";
    EXPECT_EQ(list_jobs(world.engine.state(), {}).size(), 0u);
    EXPECT_EQ(list_nodes(world.engine.state()).size(), 1u) << "reads go on";
    const std::size_t before = world.journal.inputs.size();
    world.journal.append_fails = false;
    EXPECT_TRUE(world.engine.offer(WokeUp{}));
    const auto second = world.start_submit("other");
    const bool refused = co_await world.until([&] { return second->has_value(); });
    EXPECT_TRUE(refused);
    EXPECT_EQ(second->value().error().code, ErrorCode::JournalFailed);
    EXPECT_EQ(world.journal.inputs.size(), before) << "broken for good, not until the next try";
}

TEST(EngineLoop, a_failed_append_stops_all_work_but_not_reads) { World{}.run(fail_to_append); }

aio::Task<void> fail_to_flush(World& world) {
    world.journal.flush_fails = true;
    const auto answer = world.start_submit("llm");
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (answered) {
        EXPECT_EQ(answer->value().error().code, ErrorCode::JournalFailed);
    }
    EXPECT_TRUE(world.cluster.effects.empty());
}

TEST(EngineLoop, a_failed_flush_lets_no_effect_out) { World{}.run(fail_to_flush); }

aio::Task<void> fail_to_plan(World& world) {
    world.journal.plan_fails = true;
    PodFacts pod;
    pod.uid = "waiting";
    pod.key = {"default", "waiting"};
    pod.job = "waiting";
    pod.ours = true;
    const auto answer = world.start_submit("llm");
    EXPECT_TRUE(world.engine.offer(PodObserved{pod}));
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (answered) {
        EXPECT_EQ(answer->value().error().code, ErrorCode::JournalFailed) << "at once, not in time";
    }
    EXPECT_TRUE(world.happened(kAppendSubmit)) << "it was taken before planning broke the journal";
    EXPECT_TRUE(world.engine.broken());
}

TEST(EngineLoop, a_submit_behind_which_planning_breaks_the_journal_is_answered) {
    World{}.run(fail_to_plan);
}

aio::Task<void> fail_to_sync(World& world) {
    const auto answer = world.start_submit("llm");
    const bool asked = co_await world.until([&] { return world.happened("sync"); });
    EXPECT_TRUE(asked);
    world.journal.finish_syncs(make_error(ErrorCode::JournalFailed, "input/output error"));
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered);
    if (answered) {
        EXPECT_EQ(answer->value().error().code, ErrorCode::JournalFailed);
    }
    EXPECT_TRUE(world.engine.broken());
}

TEST(EngineLoop, a_failed_sync_is_never_acknowledged) { World{}.run(fail_to_sync); }

aio::Task<void> fill_mailbox(World& world) {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(world.engine.offer(WokeUp{}));
    EXPECT_FALSE(world.engine.offer(WokeUp{}));
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{1});
    Result<void> refused = co_await world.engine.submit(World::job("llm"), deadline);
    EXPECT_EQ(refused.error().code, ErrorCode::TooManyRequests);
    const bool drained = co_await world.engine.drain(deadline);
    EXPECT_TRUE(drained);
    EXPECT_TRUE(world.engine.offer(WokeUp{}));
    EXPECT_EQ(world.recorder.counter(metrics::Metric::mailbox_refused).value(), 2u);
}

TEST(EngineLoop, a_full_mailbox_turns_events_and_submits_away) {
    EngineLoopSettings settings;
    settings.queue_max = 8;
    World{settings}.run(fill_mailbox);
}

aio::Task<void> submit_same_twice(World& world) {
    const auto first = world.start_submit("llm");
    const auto second = world.start_submit("llm");
    const bool answered = co_await world.until([&] { return second->has_value(); });
    EXPECT_TRUE(answered);
    if (answered) {
        EXPECT_EQ(second->value().error().code, ErrorCode::JobExists);
    }
    world.journal.finish_syncs(Result<void>{});
    const bool stored = co_await world.until([&] { return first->has_value(); });
    EXPECT_TRUE(stored && first->value());
}

TEST(EngineLoop, the_same_name_twice_in_one_breath_is_stored_once) {
    World{}.run(submit_same_twice);
}

aio::Task<void> lose_leadership(World& world) {
    EXPECT_TRUE(world.engine.offer(LeadershipChanged{false, Epoch{1}}));
    const bool lost = co_await world.until([&] { return !world.engine.leading(); });
    EXPECT_TRUE(lost);
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{1});
    Result<void> refused = co_await world.engine.submit(World::job("llm"), deadline);
    EXPECT_EQ(refused.error().code, ErrorCode::NotLeader);
    EXPECT_FALSE(world.engine.broken());
}

TEST(EngineLoop, without_the_lease_no_job_is_taken) { World{}.run(lose_leadership); }

aio::Task<void> stop_while_waiting(World& world) {
    const auto answer = world.start_submit("llm");
    const bool asked = co_await world.until([&] { return world.happened("sync"); });
    EXPECT_TRUE(asked);
    world.engine.stop_intake();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::milliseconds{50});
    const bool drained = co_await world.engine.drain(deadline);
    EXPECT_FALSE(drained) << "a submit still waits for the disk";
    const aio::Deadline later = aio::Deadline::in(std::chrono::seconds{1});
    Result<void> refused = co_await world.engine.submit(World::job("other"), later);
    EXPECT_EQ(refused.error().code, ErrorCode::ShuttingDown);
    world.journal.finish_syncs(Result<void>{});
    const bool drained_now = co_await world.engine.drain(later);
    EXPECT_TRUE(drained_now);
    EXPECT_TRUE(answer->has_value() && answer->value());
}

TEST(EngineLoop, stopping_takes_no_more_and_answers_what_was_taken) {
    World{}.run(stop_while_waiting);
}

aio::Task<void> look_at_inputs(World& world) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.engine.offer(WokeUp{}));
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{10});
    co_await world.engine.drain(deadline);
    const std::vector<Input>& inputs = world.journal.inputs;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        EXPECT_EQ(static_cast<std::uint64_t>(inputs[i].sequence),
                  static_cast<std::uint64_t>(inputs[i - 1].sequence) + 1);
        EXPECT_GE(inputs[i].now, inputs[i - 1].now);
        EXPECT_NE(inputs[i].seed, inputs[i - 1].seed);
    }
}

TEST(EngineLoop, sequences_have_no_gap_and_time_never_goes_back) { World{}.run(look_at_inputs); }

// Bugs 25 and 26 of contract.md 6.10: a scheduler whose callbacks deadlocked when they called it,
// whose stop() waited for a tick, and that an exception left half changed.

aio::Task<void> call_back(World& world) {
    std::size_t jobs_seen = 0;
    world.cluster.called = [&](const Effect& effect) {
        const auto* creation = std::get_if<CreateWorkload>(&effect);
        if (creation == nullptr) return;
        jobs_seen = list_jobs(world.engine.state(), {}).size();
        world.engine.change_policy(Policy{});
        EXPECT_TRUE(world.engine.offer(
            WorkloadOutcome{creation->id, creation->job->spec.key, true, false, "", {}}));
    };
    const auto answer = world.start_submit("llm");
    const bool is_heard = co_await world.until([&] {
        const JobId job = world.engine.state().find_job({"default", "llm"});
        return job.exists() && world.engine.state().job(job).workload == WorkloadState::created;
    });
    EXPECT_TRUE(is_heard) << "what a callback says is an event like any other";
    EXPECT_EQ(jobs_seen, 1u);
    world.cluster.called = nullptr;
    world.journal.finish_syncs(Result<void>{});
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered && answer->value());
}

TEST(EngineLoop, bug_25_who_carries_out_an_effect_may_call_back_at_once) { World{}.run(call_back); }

aio::Task<void> stop_in_mid_wait(World& world) {
    // Its timer sleeps for an hour: nothing is due.
    const auto started = aio::Clock::now();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const bool ended = co_await world.engine.stop(deadline);
    EXPECT_TRUE(ended);
    EXPECT_LT(aio::Clock::now() - started, std::chrono::seconds{1});
}

TEST(EngineLoop, bug_26_stopping_waits_for_no_tick) { World{}.run(stop_in_mid_wait); }

aio::Task<void> break_in_mid_batch(World& world) {
    const std::uint64_t before = world.engine.engine().state_hash();
    world.journal.appends_left = 1;
    const auto first = world.start_submit("first");
    const auto second = world.start_submit("second");
    const bool answered =
        co_await world.until([&] { return first->has_value() && second->has_value(); });
    EXPECT_TRUE(answered);
    EXPECT_TRUE(world.engine.broken());
    EXPECT_EQ(world.engine.engine().state_hash(), before) << "a part of the batch was applied";
    EXPECT_TRUE(world.cluster.effects.empty());
    if (!answered) co_return;
    EXPECT_EQ(first->value().error().code, ErrorCode::JournalFailed);
    EXPECT_EQ(second->value().error().code, ErrorCode::JournalFailed);
}

TEST(EngineLoop, bug_26_a_turn_that_breaks_leaves_nothing_half_done) {
    World{}.run(break_in_mid_batch);
}

}  // namespace
}  // namespace gpuctl::core
