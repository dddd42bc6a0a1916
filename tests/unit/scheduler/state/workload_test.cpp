// The state of a submitted job when another client changes its object in the cluster.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

class WorkloadTest : public testing::Test {
protected:
    WorkloadTest() {
        world.add(node("a", 8));
        JobRecord record;
        record.uid = "job-uid";
        record.spec.key = key;
        record.spec.kind = JobKind::training;
        world.send(JobSubmitted{record});
        const EffectId made = std::get<CreateWorkload>(world.last[0]).id;
        world.send(WorkloadOutcome{made, key, true, false, ""});
    }
    void observe(WorkloadPhase phase, std::string message = "", std::int64_t replicas = -1) {
        world.send(WorkloadObserved{{key, "job-uid", phase, replicas, std::move(message)}});
    }
    PodFacts rank(const std::string& uid) {
        PodFacts facts = pod(uid, key.name, 1);
        facts.key.namespace_name = key.namespace_name;
        return facts;
    }
    JobView view() {
        const std::vector<JobView> all = list_jobs(world.engine.state(), {});
        return all.empty() ? JobView{} : all.front();
    }
    std::string why() {
        const auto all = explain_job(world.engine.state(), key);
        return all.empty() ? "" : wording::sentence(all.front());
    }
    const ObjectKey key{"team-a", "llm"};
    EngineWorld world;
};

TEST_F(WorkloadTest, a_workload_that_another_client_deleted_is_no_job_any_more) {
    world.send(WorkloadRemoved{key, "job-uid"});
    EXPECT_FALSE(world.engine.state().jobs.find_job(key).exists());
}

TEST_F(WorkloadTest, its_pods_are_counted_until_they_are_gone) {
    world.add(rank("r"));
    world.run();
    world.send(WorkloadRemoved{key, "job-uid"});
    EXPECT_EQ(world.node_of("r"), "a");
    EXPECT_FALSE(world.engine.state().job(world.engine.state().jobs.find_job(key)).record);
    world.remove_pod("r");
    EXPECT_FALSE(world.engine.state().jobs.find_job(key).exists());
}

TEST_F(WorkloadTest, events_of_an_earlier_workload_of_that_name_are_ignored) {
    world.send(WorkloadRemoved{key, "another-uid"});
    EXPECT_TRUE(world.engine.state().jobs.find_job(key).exists());
    world.send(WorkloadObserved{{key, "another-uid", WorkloadPhase::failed, -1, "no"}});
    EXPECT_EQ(view().status, "Pending");
}

TEST_F(WorkloadTest, a_removal_during_our_own_deletion_does_not_end_it) {
    world.send(JobDeleteRequested{key, false});
    world.send(WorkloadRemoved{key, "job-uid"});
    EXPECT_EQ(view().status, "Terminating");
}

TEST_F(WorkloadTest, a_job_without_pods_has_a_reason) {
    EXPECT_EQ(why(),
              "its controller has created no pod yet; see the events of its workload object");
    observe(WorkloadPhase::active, "FailedCreate: exceeded quota");
    EXPECT_EQ(why(), "its controller cannot create pods: FailedCreate: exceeded quota");
    observe(WorkloadPhase::active, "", 0);
    EXPECT_EQ(why(), "it is scaled to 0 replicas");
    observe(WorkloadPhase::suspended);
    EXPECT_EQ(why(), "its workload is suspended; no pod is created until it is resumed");
    EXPECT_EQ(view().status, "Suspended");
    EXPECT_EQ(view().waiting->reason, Reason::pods_missing);
}

TEST_F(WorkloadTest, a_failed_pod_that_will_be_recreated_does_not_fail_its_job) {
    PodFacts first = rank("r");
    world.add(first);
    world.run();
    observe(WorkloadPhase::active);
    world.pods.at("r").phase = PodPhase::failed;
    world.show("r");
    EXPECT_EQ(view().status, "Pending");
    EXPECT_EQ(why(), "its last pod failed; its controller has not created a new pod yet");
    observe(WorkloadPhase::failed, "BackoffLimitExceeded: too often");
    EXPECT_EQ(view().status, "Failed");
    EXPECT_EQ(why(), "");
}

TEST(Workload, an_unknown_workload_is_adopted_and_can_be_deleted) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts rank = pod("j-0", "j", 1);
    rank.node = "a";
    world.add(rank);
    EXPECT_FALSE(find_job(world.engine.state(), "", "j")->kind.has_value());
    JobRecord record;
    record.uid = "u1";
    record.spec.key = {"team-a", "j"};
    record.spec.kind = JobKind::notebook;
    world.send(JobAdopted{record});
    EXPECT_EQ(find_job(world.engine.state(), "", "j")->kind, JobKind::notebook);
    EXPECT_TRUE(world.sent<CreateWorkload>().empty()) << "it exists";
    JobRecord other = record;
    other.uid = "u2";
    world.send(JobAdopted{other});
    EXPECT_EQ(find_job(world.engine.state(), "", "j")->record->uid, "u1");
    world.send(JobDeleteRequested{record.spec.key, false});
    ASSERT_EQ(world.sent<DeleteWorkload>().size(), 1U);
    EXPECT_EQ(world.sent<DeleteWorkload>().front().kind, JobKind::notebook);
}

TEST(Workload, is_created_retried_failed_and_deleted_as_answered) {
    EngineWorld world;
    JobRecord record;
    record.uid = "u1";
    record.spec.key = {"team-a", "j"};
    world.send(JobSubmitted{record});
    world.send(JobSubmitted{record});
    ASSERT_EQ(world.sent<CreateWorkload>().size(), 1U) << "idempotent by uid";
    world.send(WorkloadOutcome{world.sent<CreateWorkload>().back().id, record.spec.key, false, true,
                               "busy"});
    world.now = world.now + Duration{1'000};
    world.send(WokeUp{});
    ASSERT_EQ(world.sent<CreateWorkload>().size(), 2U);
    world.send(JobDeleteRequested{record.spec.key, false});
    EXPECT_TRUE(world.sent<DeleteWorkload>().empty()) << "must not overtake the create in flight";
    world.send(
        WorkloadOutcome{world.sent<CreateWorkload>().back().id, record.spec.key, true, false, ""});
    ASSERT_EQ(world.sent<DeleteWorkload>().size(), 1U);
    EXPECT_EQ(list_jobs(world.engine.state(), {}).front().status, "Terminating");
    world.send(
        WorkloadOutcome{world.sent<DeleteWorkload>().back().id, record.spec.key, true, false, ""});
    EXPECT_TRUE(list_jobs(world.engine.state(), {}).empty());

    record.uid = "u2";
    world.send(JobSubmitted{record});
    world.send(WorkloadOutcome{world.sent<CreateWorkload>().back().id, record.spec.key, false,
                               false, "forbidden"});
    const Result<JobView> failed = find_job(world.engine.state(), "", "j");
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->status, "Failed");
    ASSERT_TRUE(failed->waiting.has_value());
    EXPECT_EQ(wording::sentence(*failed->waiting), "forbidden");
    EXPECT_TRUE(failed->never_made);
    const std::size_t asked = world.sent<CreateWorkload>().size();
    record.uid = "u3";
    world.send(JobSubmitted{record});
    EXPECT_EQ(world.sent<CreateWorkload>().size(), asked + 1)
        << "a refused job may be submitted again";
    world.send(WorkloadOutcome{world.sent<CreateWorkload>().back().id, record.spec.key, false,
                               false, "forbidden"});
    const std::size_t deleted = world.sent<DeleteWorkload>().size();
    world.send(JobDeleteRequested{record.spec.key, false});
    EXPECT_TRUE(list_jobs(world.engine.state(), {}).empty());
    EXPECT_EQ(world.sent<DeleteWorkload>().size(), deleted) << "nothing to delete was made";
}

}  // namespace
}  // namespace gpuctl::test
