// Since when a job runs: for a job that was evicted, since it began again.

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
    // Evicted, gone, and there again with another uid.
    void replace(const std::string& name, PodFacts like) {
        world.remove_pod(name);
        like.uid = name + "-again";
        submit({like});
    }
    [[nodiscard]] Instant told() const {
        return find_job(world.engine.state(), "team-a", "j")->started_at;
    }
    EngineWorld world;
};

TEST_F(PresentRun, of_a_job_that_was_stopped_begins_when_it_starts_again) {
    const PodFacts only = pod("j-0", "j", 1);
    submit({only});
    const Instant first = start("j-0");
    EXPECT_EQ(told(), first);
    pass(6);
    replace("j-0", only);
    EXPECT_EQ(told(), first) << "until then it is told when its last run began";
    pass(10);
    const Instant second = start("j-0-again");
    EXPECT_EQ(told(), second);
}

TEST_F(PresentRun, begins_with_the_first_rank_of_the_gang_that_starts_again) {
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
    EXPECT_EQ(told(), second);
}

TEST_F(PresentRun, goes_on_while_a_rank_is_replaced_beside_others) {
    const std::vector<PodFacts> ranks = gang("j", 2, 1);
    submit(ranks);
    const Instant first = start("j-0");
    pass(1);
    start("j-1");
    pass(60);
    replace("j-0", ranks[0]);
    pass(5);
    start("j-0-again");
    EXPECT_EQ(told(), first);
    pass(5);
    replace("j-1", ranks[1]);
    EXPECT_EQ(told(), first) << "some of it has always run";
}

TEST_F(PresentRun, goes_on_after_a_rank_that_has_done_its_part) {
    submit({pod("j-0", "j", 1)});
    const Instant first = start("j-0");
    pass(60);
    change("j-0", PodPhase::succeeded);
    pass(5);
    submit({pod("j-1", "j", 1)});
    start("j-1");
    EXPECT_EQ(told(), first);
    world.remove_pod("j-0");
    EXPECT_EQ(told(), first);
}

TEST_F(PresentRun, begins_anew_after_a_failure_though_the_failed_pod_is_still_there) {
    submit({pod("j-0", "j", 1)});
    start("j-0");
    pass(60);
    change("j-0", PodPhase::failed);
    pass(5);
    submit({pod("j-1", "j", 1)});
    const Instant second = start("j-1");
    EXPECT_EQ(told(), second);
    world.remove_pod("j-0");
    EXPECT_EQ(told(), second);
}

TEST_F(PresentRun, is_told_of_a_finished_job_as_its_last_one) {
    const PodFacts only = pod("j-0", "j", 1);
    submit({only});
    start("j-0");
    pass(6);
    replace("j-0", only);
    pass(10);
    const Instant second = start("j-0-again");
    pass(60);
    change("j-0-again", PodPhase::succeeded);
    EXPECT_EQ(told(), second);
}

// A daemon that was away observes the pods in any order.
TEST_F(PresentRun, is_the_same_whoever_is_heard_of_first) {
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
    EXPECT_EQ(told(), runs.started_at);
}

TEST_F(PresentRun, is_remembered_by_an_image) {
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
    EXPECT_EQ(told(), second);
}

}  // namespace
}  // namespace gpuctl::test
