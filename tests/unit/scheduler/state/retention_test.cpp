// Finished jobs (docs/adr/0030): the newest in full, the others as a summary, for a time.

#include "scheduler/state/jobs/retention.hpp"

#include <gtest/gtest.h>

#include "scheduler/base/archive.hpp"
#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class RetentionTest : public testing::Test {
protected:
    RetentionTest() { world.add(node("a", 8)); }

    void set_retention(std::int32_t detailed, std::int32_t maximum, Duration find_reservation) {
        Policy policy;
        policy.finished_jobs_detailed = detailed;
        policy.finished_jobs_maximum = maximum;
        policy.finished_jobs_kept_for = find_reservation;
        world.set(policy);
    }
    void submit(const std::string& name, JobKind kind = JobKind::training) {
        JobRecord record;
        record.uid = "uid-of-" + name;
        record.spec.key = {"team-a", name};
        record.spec.kind = kind;
        record.spec.gpu.mode = GpuMode::exclusive;
        record.spec.gpu.count = 1;
        record.spec.gpu.amount = whole_gpus(1);
        record.spec.gpu.resource = kGpu;
        record.idempotency_key = "key-of-" + name;
        record.submitted_at = world.now;
        world.send(JobSubmitted{record});
    }
    EffectId creation(const std::string& name) {
        const auto sent = world.sent<CreateWorkload>();
        EXPECT_FALSE(sent.empty());
        EXPECT_EQ(sent.back().job->spec.key.name, name);
        return sent.back().id;
    }
    void make(const std::string& name, JobKind kind = JobKind::training) {
        submit(name, kind);
        world.send(WorkloadOutcome{creation(name), {"team-a", name}, true, false, ""});
    }
    PodFacts rank_of(const std::string& name, int number = 0) {
        PodFacts facts = pod(name + "-" + std::to_string(number), name, 1);
        facts.rank = number;
        return facts;
    }
    void end(const std::string& uid, PodPhase phase, const std::string& status = "") {
        PodFacts& facts = world.pods.at(uid);
        facts.phase = phase;
        facts.status = status;
        if (!facts.started_at.happened()) facts.started_at = world.now + Duration{-500};
        facts.finished_at = world.now;
        world.show(uid);
    }
    // A job that runs and ends now, with one pod.
    void finish(const std::string& name) {
        make(name);
        world.add(rank_of(name));
        world.run();
        end(name + "-0", PodPhase::succeeded);
        world.run();
        world.now = world.now + Duration{1'000};
    }
    const ClusterState& state() const { return world.engine.state(); }
    const FinishedJob* summary(const std::string& name, const std::string& space = "team-a") const {
        return state().jobs.finished_jobs().find({space, name});
    }
    bool is_in_full(const std::string& name) const {
        return state().jobs.find_job({"team-a", name}).exists();
    }
    std::string status(const std::string& name) const {
        const Result<JobView> view = find_job(state(), "team-a", name);
        return view ? view->status : "gone";
    }
    void restart() {
        auto revived = Engine::import_state(world.engine.export_state());
        ASSERT_TRUE(revived.has_value()) << revived.error().message;
        EXPECT_EQ(revived->export_state(), world.engine.export_state());
        world.engine = std::move(*revived);
    }
    template <typename Kind>
    std::vector<Kind> in_last() const {
        std::vector<Kind> out;
        for (const Effect& effect : world.last) {
            if (const auto* found = std::get_if<Kind>(&effect)) out.push_back(*found);
        }
        return out;
    }

    EngineWorld world;
};

TEST_F(RetentionTest,
       the_newest_jobs_are_kept_in_full_older_ones_as_a_summary_and_the_rest_is_removed) {
    set_retention(2, 4, Duration::seconds(3'600));
    for (const char* name : {"a1", "a2", "a3", "a4", "a5", "a6"}) finish(name);
    EXPECT_FALSE(is_in_full("a4"));
    EXPECT_TRUE(is_in_full("a5"));
    EXPECT_TRUE(is_in_full("a6"));
    EXPECT_EQ(state().jobs.finished_jobs().by_key().size(), 2U);
    EXPECT_NE(summary("a3"), nullptr);
    EXPECT_NE(summary("a4"), nullptr);
    EXPECT_EQ(status("a2"), "gone");
    EXPECT_EQ(state().jobs.finished_jobs().removed().at("team-a").count, 2U);
    EXPECT_EQ(list_jobs(state(), {}).size(), 4U);
}

TEST_F(RetentionTest, a_summary_is_found_by_index_as_by_a_search_of_all) {
    set_retention(1, 4, Duration::seconds(3'600));
    for (const char* name : {"a1", "a2", "a3"}) finish(name);
    PodFacts lone = pod("lone-pod", "", 1);
    lone.job = "Operator.6d8f:made";
    world.add(lone);
    world.run();
    end("lone-pod", PodPhase::failed);
    finish("a4");
    ASSERT_NE(summary("a2"), nullptr);
    ASSERT_NE(summary("Operator.6d8f:made"), nullptr);
    const auto names = {"a2",   "a2-0",     "a1",     "a4",
                        "made", "lone-pod", "a2-0-x", "Operator.6d8f:made",
                        "a1-0", "lone",     "a4-0"};
    for (const char* name : names) {
        for (const char* space : {"", "team-a", "team-b"}) {
            SCOPED_TRACE(std::string{space} + "/" + name);
            const Result<JobView> by_index = find_job(world.engine.listing(), space, name);
            const Result<JobView> by_hand = find_job(state(), space, name);
            ASSERT_EQ(by_index.has_value(), by_hand.has_value());
            if (by_hand) {
                EXPECT_EQ(by_index->key, by_hand->key);
                EXPECT_EQ(by_index->summary, by_hand->summary);
            }
        }
    }
    EXPECT_TRUE(find_job(world.engine.listing(), "", "lone-pod").has_value());
    JobSelection finished;
    finished.status = "succeeded";
    JobIndex::Page page;
    world.engine.listing().read_page(finished, 0, 20, page);
    EXPECT_EQ(page.total, 3U) << "a2 and a3 as summaries, a4 in full";
}

TEST_F(RetentionTest, a_running_or_waiting_job_is_kept_whatever_its_age) {
    set_retention(0, 0, Duration::seconds(10));
    make("runs");
    world.add(rank_of("runs"));
    world.run();
    make("waits");
    PodFacts waits = rank_of("waits");
    waits.request = room(9, 1, 1, 1);
    world.add(waits);
    world.run();
    make("web", JobKind::inference);
    world.now = world.now + Duration::seconds(100'000);
    world.send(WokeUp{});
    EXPECT_TRUE(is_in_full("runs") && is_in_full("waits") && is_in_full("web"));
    end("runs-0", PodPhase::succeeded);
    EXPECT_EQ(status("runs"), "gone");
}

TEST_F(RetentionTest, the_age_counts_from_the_end_and_a_wake_up_is_requested_in_time) {
    set_retention(10, 10, Duration::seconds(3'600));
    finish("old");
    const Instant ended = world.pods.at("old-0").finished_at;
    const auto wakes = world.sent<WakeAt>();
    ASSERT_FALSE(wakes.empty());
    EXPECT_GE(wakes.back().at, ended + Duration::seconds(3'600));
    EXPECT_LE(wakes.back().at, ended + Duration::seconds(3'660));
    world.now = ended + Duration{3'599'999};
    world.send(WokeUp{});
    EXPECT_EQ(status("old"), "Succeeded");
    world.now = ended + Duration{3'600'000};
    world.send(WokeUp{});
    EXPECT_EQ(status("old"), "gone");
    EXPECT_EQ(state().jobs.finished_jobs().removed().at("team-a").last_at, world.now);
}

TEST_F(RetentionTest, a_node_whose_clock_is_ahead_keeps_no_job_for_longer) {
    set_retention(10, 10, Duration::seconds(3'600));
    make("ahead");
    world.add(rank_of("ahead"));
    world.run();
    const Instant now = world.now;
    world.now = now + Duration::seconds(1'000'000);
    end("ahead-0", PodPhase::succeeded);
    world.pods.at("ahead-0").finished_at = world.now;
    world.now = now;
    world.now = world.now + Duration::seconds(1'003'600);
    world.send(WokeUp{});
    EXPECT_EQ(status("ahead"), "gone");
}

TEST_F(RetentionTest, a_summary_has_what_users_look_for) {
    set_retention(0, 10, Duration::seconds(3'600));
    make("llm");
    PodFacts first = rank_of("llm");
    world.add(first);
    world.run();
    const Instant started = world.now;
    world.pods.at("llm-0").started_at = started;
    world.now = world.now + Duration::seconds(60);
    end("llm-0", PodPhase::failed, "OOMKilled");
    EXPECT_TRUE(is_in_full("llm")) << "its controller may create another pod";
    world.send(WorkloadObserved{
        {{"team-a", "llm"}, "uid-of-llm", WorkloadPhase::failed, 1, "BackoffLimitExceeded: no"}});
    ASSERT_NE(summary("llm"), nullptr);
    const FinishedJob& kept = *summary("llm");
    EXPECT_EQ(kept.uid, "uid-of-llm");
    EXPECT_EQ(kept.kind, JobKind::training);
    EXPECT_TRUE(kept.failed);
    EXPECT_EQ(kept.message, "pod llm-0 ended with OOMKilled on node a");
    EXPECT_EQ(kept.nodes, "a");
    EXPECT_EQ(kept.pods, 1);
    EXPECT_EQ(kept.gpus, whole_gpus(1));
    EXPECT_EQ(kept.pool, "default");
    EXPECT_EQ(kept.queue, "default");
    EXPECT_EQ(kept.started_at, started);
    EXPECT_EQ(kept.finished_at, world.now);
    EXPECT_EQ(kept.idempotency_key, "key-of-llm");
    const Result<JobView> view = find_job(state(), "", "llm");
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->status, "Failed");
    EXPECT_EQ(view->kind, JobKind::training);
    EXPECT_TRUE(view->pods.empty());
    EXPECT_EQ(find_job(state(), "", "llm-0")->key.name, "llm") << "its pod still exists";
}

TEST_F(RetentionTest, a_summary_names_the_first_of_many_nodes) {
    set_retention(0, 10, Duration::seconds(3'600));
    for (int i = 0; i < 9; ++i) world.add(node("n" + std::to_string(i), 8));
    for (int i = 0; i < 9; ++i) {
        PodFacts facts = pod("p" + std::to_string(i), "Job:wide", 1);
        facts.node = "n" + std::to_string(i);
        world.add(facts);
    }
    for (int i = 0; i < 9; ++i) end("p" + std::to_string(i), PodPhase::succeeded);
    ASSERT_NE(summary("Job:wide"), nullptr);
    EXPECT_EQ(summary("Job:wide")->nodes, "n0,n1,n2,n3,+5");
    EXPECT_EQ(summary("Job:wide")->gpus, whole_gpus(9));
}

TEST_F(RetentionTest, adapters_are_asked_to_drop_the_details_of_a_summarized_job) {
    set_retention(0, 10, Duration::seconds(3'600));
    make("llm");
    world.add(rank_of("llm"));
    world.run();
    end("llm-0", PodPhase::succeeded);
    const auto drops = in_last<DropDetails>();
    ASSERT_EQ(drops.size(), 1U);
    EXPECT_EQ(drops[0].job.name, "llm");
    EXPECT_EQ(drops[0].job_uid, "uid-of-llm");
    EXPECT_EQ(drops[0].pods, std::vector<std::string>{"llm-0"});
}

TEST_F(RetentionTest, a_name_is_taken_until_the_summary_is_removed) {
    set_retention(0, 10, Duration::seconds(3'600));
    finish("llm");
    ASSERT_NE(summary("llm"), nullptr);
    const std::size_t created = world.sent<CreateWorkload>().size();
    submit("llm");
    EXPECT_EQ(world.sent<CreateWorkload>().size(), created);
    EXPECT_NE(summary("llm"), nullptr);
    world.now = world.now + Duration::seconds(3'600);
    submit("llm");  // the summary expires in this input, but it existed when the job was submitted
    EXPECT_EQ(status("llm"), "gone");
    submit("llm");
    EXPECT_EQ(world.sent<CreateWorkload>().size(), created + 1);
    EXPECT_EQ(status("llm"), "Pending");
}

TEST_F(RetentionTest, a_job_that_was_never_created_leaves_its_name_free) {
    set_retention(0, 10, Duration::seconds(3'600));
    submit("llm");
    world.send(WorkloadOutcome{creation("llm"), {"team-a", "llm"}, false, false, "forbidden"});
    ASSERT_NE(summary("llm"), nullptr);
    EXPECT_TRUE(summary("llm")->never_made);
    EXPECT_EQ(summary("llm")->message, "forbidden");
    submit("llm");
    EXPECT_TRUE(is_in_full("llm"));
    EXPECT_EQ(world.sent<CreateWorkload>().size(), 2U);
}

TEST_F(RetentionTest, a_summary_can_be_deleted_and_its_object_is) {
    set_retention(0, 10, Duration::seconds(3'600));
    finish("llm");
    world.send(JobDeleteRequested{{"team-a", "llm"}, false});
    const auto deletions = in_last<DeleteWorkload>();
    ASSERT_EQ(deletions.size(), 1U);
    EXPECT_EQ(deletions[0].kind, JobKind::training);
    EXPECT_EQ(status("llm"), "Terminating");
    world.send(WorkloadOutcome{deletions[0].id, {"team-a", "llm"}, true, false, ""});
    EXPECT_EQ(status("llm"), "Terminating") << "its pod still exists";
    world.show("llm-0");
    world.remove_pod("llm-0");
    EXPECT_EQ(status("llm"), "gone");
    EXPECT_TRUE(state().jobs.finished_jobs().removed().empty()) << "its user deleted it";
}

TEST_F(RetentionTest, a_refused_deletion_leaves_the_summary_unchanged) {
    set_retention(0, 10, Duration::seconds(3'600));
    finish("llm");
    const std::string before = to_archive(*summary("llm"));
    world.send(JobDeleteRequested{{"team-a", "llm"}, false});
    const EffectId id = in_last<DeleteWorkload>().at(0).id;
    restart();
    world.send(WorkloadOutcome{id, {"team-a", "llm"}, false, false, "forbidden"});
    ASSERT_NE(summary("llm"), nullptr);
    EXPECT_EQ(to_archive(*summary("llm")), before);
}

TEST_F(RetentionTest, a_pod_of_a_summarized_job_that_is_reported_again_changes_nothing) {
    set_retention(0, 10, Duration::seconds(3'600));
    finish("llm");
    restart();
    const std::size_t runs = state().run_times.history().owners().at(0).runs.size();
    world.show("llm-0");
    world.pods.at("llm-0").terminating = true;
    world.show("llm-0");
    EXPECT_NE(summary("llm"), nullptr);
    EXPECT_FALSE(is_in_full("llm"));
    EXPECT_FALSE(state().pods.find_pod("llm-0").exists());
    EXPECT_EQ(state().run_times.history().owners().at(0).runs.size(), runs);
    world.remove_pod("llm-0");
    ASSERT_NE(summary("llm"), nullptr) << "its object exists";
    EXPECT_TRUE(summary("llm")->ended_pods.empty());
    world.send(WorkloadRemoved{{"team-a", "llm"}, "another-uid"});
    EXPECT_NE(summary("llm"), nullptr);
    world.send(WorkloadRemoved{{"team-a", "llm"}, "uid-of-llm"});
    EXPECT_EQ(status("llm"), "gone");
}

TEST_F(RetentionTest, a_job_that_was_not_submitted_here_lasts_as_long_as_its_pods) {
    set_retention(0, 10, Duration::seconds(3'600));
    world.add(pod("p1", "Job:train", 1));
    world.add(pod("p2", "Job:train", 1));
    world.run();
    end("p1", PodPhase::succeeded);
    EXPECT_TRUE(is_in_full("Job:train"));
    end("p2", PodPhase::failed, "Error");
    ASSERT_NE(summary("Job:train"), nullptr);
    EXPECT_TRUE(summary("Job:train")->failed);
    EXPECT_FALSE(find_job(state(), "", "train")->kind.has_value());
    world.remove_pod("p1");
    EXPECT_NE(summary("Job:train"), nullptr);
    world.remove_pod("p2");
    EXPECT_EQ(status("train"), "gone");
}

TEST_F(RetentionTest, another_pod_of_the_same_name_is_another_job) {
    set_retention(0, 10, Duration::seconds(3'600));
    world.add(pod("uid-1", "", 1));
    world.pods.at("uid-1").key.name = "lone";
    world.show("uid-1");
    world.run();
    end("uid-1", PodPhase::succeeded);
    ASSERT_NE(summary("pod:lone"), nullptr);
    world.now = world.now + Duration::seconds(60);
    PodFacts again = pod("uid-2", "", 1);
    again.key.name = "lone";
    world.add(again);
    EXPECT_TRUE(is_in_full("pod:lone"));
    const JobRow& job = state().job(state().jobs.find_job({"team-a", "pod:lone"}));
    EXPECT_EQ(job.submitted_at, world.now);
    world.remove_pod("uid-1");
    EXPECT_TRUE(is_in_full("pod:lone"));
}

TEST_F(RetentionTest, another_pod_of_a_summarized_job_continues_the_job) {
    set_retention(0, 10, Duration::seconds(3'600));
    std::vector<PodFacts> ranks = gang("Job:train", 2, 1);
    for (PodFacts& rank : ranks) rank.controller_uid = "job-object";
    world.add(ranks);
    world.run();
    const Instant submitted =
        state().job(state().jobs.find_job({"team-a", "Job:train"})).submitted_at;
    world.now = world.now + Duration{1'000};
    end("Job:train-0", PodPhase::succeeded);
    end("Job:train-1", PodPhase::failed, "Error");
    ASSERT_NE(summary("Job:train"), nullptr);
    EXPECT_EQ(summary("Job:train")->ended_pods.size(), 2U);
    restart();
    PodFacts again = ranks[1];
    again.uid = "Job:train-1-again";
    again.key.name = again.uid;
    world.add(again);
    world.run();
    EXPECT_EQ(world.node_of(again.uid), "a") << "rank 0 has succeeded, no other rank is needed";
    EXPECT_EQ(state().job(state().jobs.find_job({"team-a", "Job:train"})).submitted_at, submitted);
    restart();
    EXPECT_EQ(status("train"), "Pending");
    end(again.uid, PodPhase::succeeded);
    ASSERT_NE(summary("Job:train"), nullptr);
    EXPECT_EQ(summary("Job:train")->ended_pods.size(), 3U);
    for (const char* uid : {"Job:train-0", "Job:train-1", "Job:train-1-again"}) {
        world.remove_pod(uid);
    }
    EXPECT_EQ(status("train"), "gone");
}

TEST_F(RetentionTest, nothing_is_summarized_before_all_that_exists_was_reported) {
    EngineWorld bare{EngineWorld::Bare{}};
    Policy policy;
    policy.finished_jobs_detailed = 0;
    bare.set(policy);
    PodFacts ended = pod("p1", "Job:train", 1);
    ended.phase = PodPhase::succeeded;
    ended.finished_at = Instant{5};
    bare.add(ended);
    const ObjectKey key{"team-a", "Job:train"};
    EXPECT_TRUE(bare.engine.state().jobs.find_job(key).exists());
    PodFacts runs = pod("p2", "Job:train", 1);
    bare.add(runs);
    bare.send(CacheSynced{});
    EXPECT_TRUE(bare.engine.state().jobs.find_job(key).exists());
    bare.remove_pod("p2");
    EXPECT_FALSE(bare.engine.state().jobs.find_job(key).exists());
}

TEST_F(RetentionTest, a_job_that_is_removed_and_reported_again_is_counted_once) {
    set_retention(0, 1, Duration::seconds(3'600));
    world.add(pod("p1", "Job:one", 1));
    world.run();
    end("p1", PodPhase::succeeded);
    world.now = world.now + Duration{1'000};
    world.add(pod("p2", "Job:two", 1));
    world.run();
    end("p2", PodPhase::succeeded);
    EXPECT_EQ(state().jobs.finished_jobs().removed().at("team-a").count, 1U);
    EXPECT_EQ(state().run_times.history().owners().at(0).runs.size(), 2U);
    restart();
    world.show("p1");
    world.show("p2");
    EXPECT_EQ(state().run_times.history().owners().at(0).runs.size(), 2U)
        << "a run is learned from once";
    EXPECT_EQ(status("one"), "gone");
    EXPECT_EQ(status("two"), "Succeeded");
    EXPECT_EQ(state().jobs.finished_jobs().removed().at("team-a").count, 1U);
}

TEST_F(RetentionTest, a_summary_takes_less_than_a_kilobyte_in_memory_and_in_an_image) {
    set_retention(0, 100'000, Duration::seconds(3'600));
    for (int i = 0; i < 100; ++i) finish("a-job-of-an-ordinary-name-" + std::to_string(i));
    ASSERT_EQ(state().jobs.finished_jobs().by_key().size(), 100U);
    const FinishedJob& one = state().jobs.finished_jobs().by_key().begin()->second;
    EXPECT_LE(sizeof(FinishedJob), 416U) << "with its place in the table no more than 512";
    EXPECT_LE(to_archive(one).size(), 300U);
}

}  // namespace
}  // namespace gpuctl::test
