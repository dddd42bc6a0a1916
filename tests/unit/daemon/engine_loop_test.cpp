// The guarantees of the engine loop, on a journal and a cluster that the test controls.

#include "unit/daemon/engine_world.hpp"

namespace gpuctl::core {
namespace {

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

TEST(EngineLoop, effects_are_carried_out_after_the_flush_and_requests_answered_after_the_sync) {
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

TEST(EngineLoop, no_effect_is_carried_out_after_a_failed_flush) { World{}.run(fail_to_flush); }

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

TEST(EngineLoop, a_submit_is_answered_although_the_following_plan_breaks_the_journal) {
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
    EXPECT_EQ(refused.error().message,
              "8 inputs wait for the scheduler, the most that expert.journal.queueMax allows; "
              "retry in a second");
    const bool drained = co_await world.engine.drain(deadline);
    EXPECT_TRUE(drained);
    EXPECT_TRUE(world.engine.offer(WokeUp{}));
    EXPECT_EQ(world.recorder.counter(metrics::Metric::mailbox_refused).value(), 2u);
}

TEST(EngineLoop, a_full_mailbox_refuses_events_and_submits) {
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

TEST(EngineLoop, two_submits_of_the_same_name_in_one_batch_are_stored_once) {
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

TEST(EngineLoop, without_the_lease_no_job_is_accepted) { World{}.run(lose_leadership); }

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

TEST(EngineLoop, stopping_accepts_no_more_and_answers_every_accepted_request) {
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

// Regressions of a predecessor: its callbacks deadlocked when they called the scheduler, its stop()
// waited for a tick, and an exception left it half changed.

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
        const JobId job = world.engine.state().jobs.find_job({"default", "llm"});
        return job.exists() &&
               world.engine.state().job(job).workload.state == WorkloadState::created;
    });
    EXPECT_TRUE(is_heard) << "what a callback says is an event like any other";
    EXPECT_EQ(jobs_seen, 1u);
    world.cluster.called = nullptr;
    world.journal.finish_syncs(Result<void>{});
    const bool answered = co_await world.until([&] { return answer->has_value(); });
    EXPECT_TRUE(answered && answer->value());
}

TEST(EngineLoop, an_adapter_may_call_back_while_it_carries_out_an_effect) {
    World{}.run(call_back);
}

aio::Task<void> stop_in_mid_wait(World& world) {
    // Its timer sleeps for an hour: nothing is due.
    const auto started = aio::Clock::now();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const bool ended = co_await world.engine.stop(deadline);
    EXPECT_TRUE(ended);
    EXPECT_LT(aio::Clock::now() - started, std::chrono::seconds{1});
}

TEST(EngineLoop, stopping_does_not_wait_for_the_next_tick) { World{}.run(stop_in_mid_wait); }

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

TEST(EngineLoop, a_turn_that_fails_leaves_no_partial_change) { World{}.run(break_in_mid_batch); }

}  // namespace
}  // namespace gpuctl::core
