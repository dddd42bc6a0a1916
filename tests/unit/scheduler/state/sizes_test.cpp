// The known size of an elastic job: by answers, by the watch, over a restart (docs/adr/0017).

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

class Sizes : public ::testing::Test {
protected:
    // Ranks 0 to 5 of one GPU each; four fit.
    explicit Sizes(const JobSpec& like = {}) {
        world.add(node("a", 4));
        JobRecord record;
        record.spec = like;
        record.uid = "job-uid";
        record.spec.key = key;
        record.spec.replicas_min = 2;
        record.spec.replicas_max = 6;
        world.send(JobSubmitted{record});
        const CreateWorkload creation = world.sent<CreateWorkload>().front();
        world.send(WorkloadOutcome{creation.id, key, true, false, "", {}});
        for (PodFacts& rank : gang("e", 6, 1)) {
            rank.gang_min = 2;
            rank.run_time_expected = like.run_time_expected;
            rank.restart_cost = like.restart_cost;
            world.add(rank);
        }
        world.run();
    }
    void watch_shows(std::int64_t size) {
        world.send(WorkloadObserved{{key, "job-uid", WorkloadPhase::active, size, ""}});
        world.plan();
    }
    [[nodiscard]] const ElasticRow& row() const {
        const ClusterState& state = world.engine.state();
        return state.job(state.jobs.find_job(key)).elastic;
    }
    void remove_ranks_that_do_not_fit() {
        world.answer_resize("e");
        world.remove_pod("e-4");
        world.remove_pod("e-5");
        world.run();
    }

    const ObjectKey key{"team-a", "e"};
    EngineWorld world;
};

TEST_F(Sizes, a_watch_event_older_than_our_own_resize_is_ignored) {
    ASSERT_EQ(world.resizes.at("e").to, 4);
    remove_ranks_that_do_not_fit();
    watch_shows(6);
    EXPECT_EQ(row().size, 4);
    EXPECT_TRUE(world.resizes.empty());
    watch_shows(4);
    watch_shows(6);  // now a user has resized it: the job may have this size
    EXPECT_EQ(row().size, 6);
    EXPECT_EQ(row().wanted, 6);
}

TEST_F(Sizes, a_size_outside_of_the_range_is_corrected) {
    remove_ranks_that_do_not_fit();
    watch_shows(1);
    EXPECT_EQ(row().wanted, 2);
    ASSERT_TRUE(world.resizes.contains("e"));
    EXPECT_EQ(world.resizes.at("e").from, 1);
    EXPECT_EQ(world.resizes.at("e").to, 2);
}

// A request of an earlier term was executed in the meantime (found by simulation): a refusal does
// not say so, and the watch does not report it twice.
TEST_F(Sizes, a_size_observed_during_a_resize_counts_when_the_resize_is_refused) {
    remove_ranks_that_do_not_fit();
    watch_shows(4);
    world.add(node("b", 2));
    world.now = world.now + world.policy.growth_pause;
    world.send(WokeUp{});
    world.plan();
    ASSERT_EQ(world.resizes.at("e").to, 6);
    watch_shows(5);
    EXPECT_EQ(row().size, 4) << "it may be an intermediate state of our own change";
    world.answer_resize("e", ResizeResult::refused);
    EXPECT_EQ(row().size, 5);
    EXPECT_EQ(row().wanted, 5);
}

// Two of the four ranks are to be removed, and the controller may not have the request.
TEST_F(Sizes, ranks_count_as_shrunk_when_the_controller_has_accepted_the_size) {
    remove_ranks_that_do_not_fit();
    PodFacts other = pod("other", "other", 2);
    other.priority = 50;
    world.add(other);
    world.run();
    ASSERT_EQ(world.resizes.at("e").to, 2);
    world.answer_resize("e", ResizeResult::failed);
    EXPECT_EQ(world.engine.figures().ranks_shrunk, 0U);
    world.now = world.now + world.policy.backoff_initial;
    world.send(WokeUp{});
    world.plan();
    world.answer_resize("e");
    EXPECT_EQ(world.engine.figures().ranks_shrunk, 2U);
}

TEST_F(Sizes, an_answer_to_another_effect_is_ignored) {
    const ResizeWorkload sent = world.resizes.at("e");
    world.send(WorkloadResizeOutcome{EffectId{9'999}, key, ResizeResult::refused, 0, ""});
    EXPECT_TRUE(row().in_flight);
    world.send(WorkloadResizeOutcome{sent.id, key, ResizeResult::resized, 0, ""});
    EXPECT_FALSE(row().in_flight);
    EXPECT_EQ(row().size, 4);
}

// The cluster compares the size first, and so finds a request that was executed before.
TEST_F(Sizes, a_new_term_repeats_a_resize_without_an_answer) {
    const ResizeWorkload sent = world.resizes.at("e");
    world.send(LeadershipChanged{false, Epoch{1}});
    world.send(LeadershipChanged{true, Epoch{2}});
    world.plan();
    const ResizeWorkload again = world.resizes.at("e");
    EXPECT_NE(again.id, sent.id);
    EXPECT_EQ(again.epoch, Epoch{2});
    EXPECT_EQ(again.from, 6);
    EXPECT_EQ(again.to, 4);
}

// It may have been executed without a report: not every cluster reports sizes.
TEST_F(Sizes, a_new_term_reads_the_size_back_after_a_resize_without_an_answer_that_is_obsolete) {
    ASSERT_EQ(world.resizes.at("e").to, 4);
    NodeFacts closed = world.nodes.at("a");
    closed.unschedulable = true;
    world.add(closed);
    for (const char* rank : {"e-0", "e-1", "e-2", "e-3"}) {
        PodFacts again = world.pods.at(rank);
        world.remove_pod(rank);
        again.uid += "+";
        again.key.name = again.uid;
        again.node.clear();
        world.add(again);
    }
    world.plan();
    ASSERT_EQ(row().wanted, 6);  // all ranks wait: the job may start with all of them
    ASSERT_EQ(row().size, 6);
    world.send(LeadershipChanged{false, Epoch{1}});
    world.send(LeadershipChanged{true, Epoch{2}});
    EffectList effects;
    world.engine.step(Input{Sequence{++world.sequence}, world.now, 0, Plan{}}, effects);
    const auto asks = [](const Effect& effect) {
        return std::holds_alternative<ResizeWorkload>(effect);
    };
    const auto found = std::find_if(effects.begin(), effects.end(), asks);
    ASSERT_NE(found, effects.end());
    const auto again = std::get<ResizeWorkload>(*found);
    EXPECT_EQ(again.from, 6);
    EXPECT_EQ(again.to, 6);
    world.resizes.clear();
    world.send(WorkloadResizeOutcome{again.id, key, ResizeResult::other_size, 4, ""});
    world.plan();
    EXPECT_EQ(world.resizes.at("e").from, 4);
    EXPECT_EQ(world.resizes.at("e").to, 6);
    world.answer_resize("e");
    world.plan();
    EXPECT_TRUE(world.resizes.empty()) << "an answered request is not repeated";
}

TEST_F(Sizes, sizes_survive_export_and_import) {
    remove_ranks_that_do_not_fit();
    auto revived = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(revived.has_value());
    EXPECT_EQ(revived->state_hash(), world.engine.state_hash());
    const ClusterState& state = revived->state();
    EXPECT_EQ(state.job(state.jobs.find_job(key)).elastic.size, 4);
    EXPECT_EQ(state.elastic.elastic_jobs().size(), 1u);
}

void submit_elastic(EngineWorld& world, const std::string& name) {
    JobRecord record;
    record.spec.key = {"team-a", name};
    record.uid = name + "-uid";
    record.spec.replicas_min = 1;
    record.spec.replicas_max = 2;
    world.send(JobSubmitted{record});
    const CreateWorkload creation = world.sent<CreateWorkload>().back();
    world.send(WorkloadOutcome{creation.id, record.spec.key, true, false, "", {}});
    for (PodFacts& rank : gang(name, 2, 1)) {
        rank.gang_min = 1;
        world.add(rank);
    }
}

// Regression: requests were sent in the order of the rows, which differs after a restart if a free
// row was reused meanwhile (found by simulation).
TEST(SizesOverARestart, resizes_are_sent_in_the_order_of_submission_after_a_restart_too) {
    EngineWorld world;
    NodeFacts full = node("a", 2);
    full.unschedulable = true;
    world.add(full);
    world.add(pod("gone-before", "gone-before", 1));
    submit_elastic(world, "first");
    world.remove_pod("gone-before");
    EngineWorld revived;
    revived.engine = *Engine::import_state(world.engine.export_state());
    revived.pods = world.pods;
    full.unschedulable = false;
    for (EngineWorld* one : {&world, &revived}) {
        submit_elastic(*one, "second");
        one->add(full);
        one->run();
        ASSERT_EQ(one->resizes.size(), 2u);  // one rank each fits
        EXPECT_TRUE(one->resizes.at("first").id < one->resizes.at("second").id);
    }
    EXPECT_EQ(revived.engine.state_hash(), world.engine.state_hash());
}

TEST_F(Sizes, the_text_says_how_many_ranks_there_are_and_why_not_more) {
    remove_ranks_that_do_not_fit();
    const Result<JobView> view = find_job(world.engine.state(), "team-a", "e");
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->ranks_min, 2);
    EXPECT_EQ(view->ranks_max, 6);
    EXPECT_EQ(wording::text(view->size),
              "it has 4 ranks (minimum 2, maximum 6); it would grow to 6: pool default has 0 "
              "usable GPUs free, no node has room for a rank of 1 GPU");
    world.add(node("b", 4));
    world.plan();
    EXPECT_EQ(wording::text(find_job(world.engine.state(), "team-a", "e")->size),
              "it has 4 ranks (minimum 2, maximum 6); it would grow to 6, in 1m at the earliest");
    world.now = world.now + Duration::seconds(61);
    world.send(WokeUp{});
    world.plan();
    EXPECT_EQ(wording::text(find_job(world.engine.state(), "team-a", "e")->size),
              "it has 4 ranks (minimum 2, maximum 6), growing to 6: room for more ranks is idle");
}

TEST_F(Sizes, the_text_names_the_limit_that_ends_growth_below_the_maximum) {
    remove_ranks_that_do_not_fit();
    TenantPolicy tenant;
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(5);
    world.policy.tenants = {tenant};
    world.set(world.policy);
    world.add(node("b", 4));
    world.plan();
    EXPECT_EQ(wording::text(find_job(world.engine.state(), "team-a", "e")->size),
              "it has 4 ranks (minimum 2, maximum 6); it would grow to 5 and no further (namespace "
              "team-a: 4 of "
              "5 GPUs in use (maximum), 2 requested), in 1m at the earliest");
}

// A lost rank is not created again at the expense of waiting jobs.
TEST_F(Sizes, the_size_does_not_change_once_a_rank_has_succeeded) {
    remove_ranks_that_do_not_fit();
    PodFacts ended = world.pods.at("e-1");
    ended.phase = PodPhase::succeeded;
    world.add(ended);
    world.plan();
    world.now = world.now + Duration::seconds(61);
    world.send(WokeUp{});
    world.plan();
    EXPECT_TRUE(world.resizes.empty()) << "there is an idle GPU, and it is not for this job";
    for (const PodFacts& rank : gang("w", 2, 1)) world.add(rank);
    world.plan();
    EXPECT_TRUE(world.resizes.empty()) << "nor does the job shrink";
}

// A job with a speedup curve: its 4 ranks are 1.5 times as fast as 2.
class Pace : public Sizes {
protected:
    Pace() : Sizes(spec()) {}
    static JobSpec spec() {
        JobSpec spec;
        spec.speeds = {{2, 1'000}, {4, 1'500}, {6, 3'000}};
        spec.run_time_expected = Duration::seconds(10'000);
        spec.restart_cost = Duration::seconds(10);
        return spec;
    }
    [[nodiscard]] Duration done() const {
        const ClusterState& state = world.engine.state();
        return state.run_times.progress_of(state.job(state.jobs.find_job(key)));
    }
    void wait(std::int64_t seconds) {
        world.now = world.now + Duration::seconds(seconds);
        world.send(WokeUp{});
        world.run();
    }
};

TEST_F(Pace, progress_is_measured_as_time_with_the_fewest_ranks) {
    remove_ranks_that_do_not_fit();
    EXPECT_EQ(done(), Duration{});
    wait(10);
    EXPECT_EQ(done(), Duration{}) << "it is only starting";
    wait(100);
    EXPECT_EQ(done(), Duration::seconds(150));
}

TEST_F(Pace, progress_survives_a_resize_and_the_restart_adds_none) {
    remove_ranks_that_do_not_fit();
    wait(110);
    for (PodFacts& rank : gang("w", 2, 1)) world.add(rank);  // it shrinks for these
    world.run();
    ASSERT_EQ(world.resizes.at("e").to, 2);
    world.answer_resize("e");
    world.remove_pod("e-2");
    world.remove_pod("e-3");
    world.run();
    EXPECT_EQ(done(), Duration::seconds(150));
    wait(10);
    EXPECT_EQ(done(), Duration::seconds(150));
    wait(100);
    EXPECT_EQ(done(), Duration::seconds(250));
}

TEST_F(Pace, a_missing_rank_stops_the_whole_job) {
    remove_ranks_that_do_not_fit();
    wait(110);
    world.remove_pod("e-1");
    world.run();
    wait(100);
    EXPECT_EQ(done(), Duration{}) << "without checkpoints only progress before a resize is kept";
}

TEST_F(Pace, progress_survives_export_and_import) {
    remove_ranks_that_do_not_fit();
    wait(110);
    auto revived = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(revived.has_value());
    EXPECT_EQ(revived->state_hash(), world.engine.state_hash());
    const ClusterState& state = revived->state();
    EXPECT_EQ(state.run_times.progress_of(state.job(state.jobs.find_job(key))),
              Duration::seconds(150));
}

TEST_F(Pace, the_text_says_how_fast_the_job_is_and_what_more_ranks_would_gain) {
    remove_ranks_that_do_not_fit();
    EXPECT_EQ(
        wording::text(find_job(world.engine.state(), "team-a", "e")->size),
        "it has 4 ranks (minimum 2, maximum 6), 1.5 times as fast as with 2 (last change: with "
        "more ranks it would gain less than other jobs, or nothing); it would grow to 6, 3.0 times "
        "as fast: pool default has 0 usable GPUs free, no node has room for a rank of 1 GPU");
    world.add(node("b", 4));
    wait(61);
    EXPECT_EQ(wording::cause_text(world.resizes.at("e").why),
              "from 4 to 6 ranks it is 2.0 times as fast and ends 54m58s sooner");
}

}  // namespace
}  // namespace gpuctl::test
