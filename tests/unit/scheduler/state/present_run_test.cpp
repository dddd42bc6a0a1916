// Since when a job runs: for a job that was evicted, since it started again.

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class PresentRun : public testing::Test {
protected:
    void SetUp() override {
        world.add(node("a", 8));
        JobRecord job;  // so that it outlives its pods
        job.uid = "uid-of-j";
        job.spec.key = {"team-a", "j"};
        world.send(JobSubmitted{job});
    }
    void submit(const std::vector<PodFacts>& pods) {
        world.add(pods);
        world.run();
    }
    void change(const std::string& uid, PodPhase phase) {
        PodFacts& facts = world.pods.at(uid);
        facts.phase = phase;
        (phase == PodPhase::running ? facts.started_at : facts.finished_at) = world.now;
        world.show(uid);
    }
    Instant start(const std::string& uid) {
        change(uid, PodPhase::running);
        return world.now;
    }
    void terminate(const std::string& uid) {
        world.pods.at(uid).terminating = true;
        world.show(uid);
    }
    void pass(std::int64_t seconds) { world.now = world.now + Duration::seconds(seconds); }
    // The pod is evicted, removed, and created again with another uid.
    void replace(const std::string& name, PodFacts like) {
        world.remove_pod(name);
        like.uid = name + "-again";
        submit({like});
    }
    [[nodiscard]] Instant run_began() const {
        return find_job(world.engine.state(), "team-a", "j")->started_at;
    }
    EngineWorld world;
};

TEST_F(PresentRun, of_an_evicted_job_begins_when_it_starts_again) {
    const PodFacts only = pod("j-0", "j", 1);
    submit({only});
    const Instant first = start("j-0");
    EXPECT_EQ(run_began(), first);
    pass(6);
    replace("j-0", only);
    EXPECT_EQ(run_began(), first) << "until then the start of its last run is shown";
    pass(10);
    const Instant second = start("j-0-again");
    EXPECT_EQ(run_began(), second);
}

TEST_F(PresentRun, of_a_restarted_gang_begins_with_its_first_rank) {
    const std::vector<PodFacts> ranks = gang("j", 2, 1);
    submit(ranks);
    start("j-1");
    pass(1);
    start("j-0");
    pass(60);
    terminate("j-0");
    terminate("j-1");
    pass(5);
    replace("j-0", ranks[0]);
    replace("j-1", ranks[1]);
    pass(5);
    const Instant second = start("j-1-again");
    pass(1);
    start("j-0-again");
    EXPECT_EQ(run_began(), second);
}

TEST_F(PresentRun, continues_while_a_rank_is_replaced_and_another_runs) {
    const std::vector<PodFacts> ranks = gang("j", 2, 1);
    submit(ranks);
    const Instant first = start("j-0");
    pass(1);
    start("j-1");
    pass(60);
    replace("j-0", ranks[0]);
    pass(5);
    start("j-0-again");
    EXPECT_EQ(run_began(), first);
    pass(5);
    replace("j-1", ranks[1]);
    EXPECT_EQ(run_began(), first) << "at least one rank has always run";
}

TEST_F(PresentRun, continues_after_a_rank_has_succeeded) {
    submit({pod("j-0", "j", 1)});
    const Instant first = start("j-0");
    pass(60);
    change("j-0", PodPhase::succeeded);
    pass(5);
    submit({pod("j-1", "j", 1)});
    start("j-1");
    EXPECT_EQ(run_began(), first);
    world.remove_pod("j-0");
    EXPECT_EQ(run_began(), first);
}

TEST_F(PresentRun, begins_again_after_a_failure_although_the_failed_pod_still_exists) {
    submit({pod("j-0", "j", 1)});
    start("j-0");
    pass(60);
    change("j-0", PodPhase::failed);
    pass(5);
    submit({pod("j-1", "j", 1)});
    const Instant second = start("j-1");
    EXPECT_EQ(run_began(), second);
    world.remove_pod("j-0");
    EXPECT_EQ(run_began(), second);
}

TEST_F(PresentRun, of_a_finished_job_is_its_last_run) {
    const PodFacts only = pod("j-0", "j", 1);
    submit({only});
    start("j-0");
    pass(6);
    replace("j-0", only);
    pass(10);
    const Instant second = start("j-0-again");
    pass(60);
    change("j-0-again", PodPhase::succeeded);
    EXPECT_EQ(run_began(), second);
}

// After a restart the daemon observes the pods in any order.
TEST_F(PresentRun, does_not_depend_on_which_pod_is_observed_first) {
    PodFacts failed = pod("j-0", "j", 1);
    failed.node = "a";
    failed.phase = PodPhase::failed;
    failed.started_at = world.now;
    failed.finished_at = world.now + Duration::seconds(60);
    PodFacts runs = pod("j-1", "j", 1);
    runs.node = "a";
    runs.phase = PodPhase::running;
    runs.started_at = world.now + Duration::seconds(65);
    pass(100);
    submit({runs, failed});
    EXPECT_EQ(run_began(), runs.started_at);
}

TEST_F(PresentRun, survives_a_restart_from_an_image) {
    const PodFacts only = pod("j-0", "j", 1);
    submit({only});
    start("j-0");
    pass(6);
    terminate("j-0");
    Result<Engine> restored = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restored);
    world.engine = std::move(*restored);
    pass(10);
    replace("j-0", only);
    const Instant second = start("j-0-again");
    EXPECT_EQ(run_began(), second);
}

}  // namespace
}  // namespace gpuctl::test
