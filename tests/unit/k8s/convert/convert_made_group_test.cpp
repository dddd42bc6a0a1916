// Gangs of controllers that make many equal groups of pods from one template.

#include "k8s/convert/convert_group.hpp"
#include "unit/k8s/convert/convert_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using convert_fixture::basic_pod;
using convert_fixture::facts;
using convert_fixture::Json;

Json labelled(std::initializer_list<std::pair<const char*, const char*>> labels) {
    Json pod = basic_pod();
    pod["metadata"]["labels"]["runwhere.ai/gang"] = "serve";
    for (const auto& [key, value] : labels) pod["metadata"]["labels"][key] = value;
    return pod;
}

Json lws_pod(const char* group, const char* worker) {
    Json pod = labelled({{"leaderworkerset.sigs.k8s.io/name", "llm"},
                         {"leaderworkerset.sigs.k8s.io/group-index", group},
                         {"leaderworkerset.sigs.k8s.io/worker-index", worker},
                         {"apps.kubernetes.io/pod-index", group}});
    pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = "3";
    pod["metadata"]["ownerReferences"] = Json::array(
        {{{"kind", "StatefulSet"}, {"name", "llm"}, {"controller", true}, {"uid", "u"}}});
    return pod;
}

// Regression: all groups were one gang of the size of one group, and half of it started.
TEST(ConvertMadeGroup, each_group_of_a_LeaderWorkerSet_is_a_gang_of_its_stated_size) {
    const PodFacts leader = facts(lws_pod("0", "0"));
    const PodFacts worker = facts(lws_pod("0", "2"));
    EXPECT_EQ(leader.job, "gang.LeaderWorkerSet.serve:llm-0");
    EXPECT_EQ(worker.job, leader.job);
    EXPECT_EQ(facts(lws_pod("1", "0")).job, "gang.LeaderWorkerSet.serve:llm-1");
    EXPECT_TRUE(leader.gang);
    EXPECT_EQ(leader.gang_min, 3);
    EXPECT_EQ(leader.gang_min_problem, "");
    EXPECT_EQ(leader.gang_named, "serve");
    EXPECT_EQ(leader.rank, 0);
    EXPECT_EQ(worker.rank, 2) << "not the number of its group";
    EXPECT_EQ(leader.role, "leader");
    EXPECT_EQ(worker.role, "worker");
}

TEST(ConvertMadeGroup, the_size_on_the_pods_wins_over_the_size_of_the_controller) {
    Json pod = lws_pod("0", "0");
    pod["metadata"]["annotations"]["runwhere.ai/gang-min"] = "2";
    EXPECT_EQ(facts(pod).gang_min, 2);
}

TEST(ConvertMadeGroup, a_pod_group_wins_over_the_group_of_the_controller) {
    Json pod = lws_pod("0", "0");
    pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "llm-all";
    EXPECT_EQ(facts(pod).job, "gang:llm-all");
    EXPECT_EQ(facts(pod).gang_named, "");
    EXPECT_EQ(facts(pod).gang_min, 0) << "the PodGroup says it";
    pod = lws_pod("0", "0");
    pod["spec"]["schedulingGroup"]["podGroupName"] = "llm-all";
    EXPECT_EQ(facts(pod).job, "gang:llm-all");
}

TEST(ConvertMadeGroup, groups_without_the_label_are_no_gangs) {
    Json pod = lws_pod("0", "0");
    pod["metadata"]["labels"].erase("runwhere.ai/gang");
    EXPECT_FALSE(facts(pod).gang);
    EXPECT_EQ(facts(pod).job, "StatefulSet:llm");
}

TEST(ConvertMadeGroup, the_label_distinguishes_two_gangs_of_one_controller) {
    Json pod = labelled({{"jobset.sigs.k8s.io/jobset-name", "train"}});
    EXPECT_EQ(facts(pod).job, "gang.JobSet.serve:train");
    pod["metadata"]["labels"]["runwhere.ai/gang"] = "evaluate";
    EXPECT_EQ(facts(pod).job, "gang.JobSet.evaluate:train");
}

TEST(ConvertMadeGroup, every_controller_is_recognized_by_its_own_labels) {
    EXPECT_EQ(facts(labelled({{"jobset.sigs.k8s.io/jobset-name", "train"},
                              {"jobset.sigs.k8s.io/replicatedjob-name", "workers"},
                              {"jobset.sigs.k8s.io/restart-attempt", "0"}}))
                  .job,
              "gang.JobSet.serve:train");
    EXPECT_EQ(facts(labelled({{"jobset.sigs.k8s.io/jobset-name", "train"},
                              {"jobset.sigs.k8s.io/restart-attempt", "2"}}))
                  .job,
              "gang.JobSet.serve.2:train")
        << "pods of the attempt before are no ranks of this one";
    EXPECT_EQ(facts(labelled({{"training.kubeflow.org/job-name", "ddp"},
                              {"training.kubeflow.org/replica-type", "worker"}}))
                  .job,
              "gang.TrainingJob.serve:ddp");
    EXPECT_EQ(facts(labelled({{"ray.io/cluster", "ray-1"}, {"ray.io/group", "gpu"}})).job,
              "gang.RayCluster.serve:ray-1");
    EXPECT_EQ(facts(labelled({{"ray.io/cluster", "ray-1"},
                              {"ray.io/worker-group-replica-name", "gpu-af03de"},
                              {"ray.io/worker-group-replica-index", "0"}}))
                  .job,
              "gang.RayReplica.serve:gpu-af03de");
}

TEST(ConvertMadeGroup, controllers_that_create_pods_in_turn_are_named) {
    Json pod = labelled({{"apps.kubernetes.io/pod-index", "0"}});
    pod["metadata"]["ownerReferences"] = Json::array(
        {{{"kind", "StatefulSet"}, {"name", "web"}, {"controller", true}, {"uid", "u"}}});
    EXPECT_EQ(facts(pod).made_in_turn,
              "StatefulSet web, which creates one pod after another unless its podManagementPolicy "
              "is Parallel");
    EXPECT_EQ(facts(lws_pod("0", "0")).made_in_turn,
              "LeaderWorkerSet llm, which creates a leader first and, if its startupPolicy is "
              "LeaderReady, its workers when the leader is ready");
    EXPECT_EQ(facts(lws_pod("0", "1")).made_in_turn, "") << "then the leader was ready";
    pod["metadata"]["labels"].erase("runwhere.ai/gang");
    EXPECT_EQ(facts(pod).made_in_turn, "") << "no gang waits for them";
}

std::vector<GangReading> gangs_of(const char* spec, const char* status = "{}") {
    const std::string set = R"({"metadata":{"namespace":"t","name":"train"},"spec":)" +
                            std::string{spec} + R"(,"status":)" + status + "}";
    auto gangs = read_gangs(set, GangField::job_set, LabelKeys{});
    EXPECT_TRUE(gangs.has_value());
    return gangs ? *gangs : std::vector<GangReading>{};
}

constexpr const char* kTwoJobs = R"({"replicatedJobs":[
    {"name":"leader","replicas":1,"template":{"spec":{"parallelism":1,"completions":1,
       "template":{"metadata":{"labels":{"runwhere.ai/gang":"llm"}}}}}},
    {"name":"workers","replicas":2,"template":{"spec":{"parallelism":4,"completions":3,
       "template":{"metadata":{"labels":{"runwhere.ai/gang":"llm"}}}}}},
    {"name":"monitor","template":{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}}]})";

TEST(ConvertJobSet, gives_the_number_of_pods_of_each_gang_in_its_templates) {
    const auto gangs = gangs_of(kTwoJobs);
    ASSERT_EQ(gangs.size(), 1U);
    EXPECT_EQ(gangs[0].job, (ObjectKey{"t", "gang.JobSet.llm:train"}));
    EXPECT_EQ(gangs[0].size, (GangSize{7, {}}));
    EXPECT_TRUE(gangs[0].note.is_derived);
    EXPECT_EQ(gangs[0].note.made_in_turn, "");
    EXPECT_EQ(gangs_of(kTwoJobs, R"({"restarts":2})")[0].job.name, "gang.JobSet.llm.2:train");
    EXPECT_TRUE(gangs_of(R"({"replicatedJobs":[{"name":"a","template":{}}]})").empty());
}

TEST(ConvertJobSet, is_recognized_as_creating_its_jobs_in_turn) {
    Json set = Json::parse(kTwoJobs);
    set["startupPolicy"]["startupPolicyOrder"] = "InOrder";
    EXPECT_EQ(gangs_of(set.dump().c_str())[0].note.made_in_turn,
              "JobSet train, whose startupPolicy is InOrder");
    set["startupPolicy"]["startupPolicyOrder"] = "AnyOrder";
    EXPECT_EQ(gangs_of(set.dump().c_str())[0].note.made_in_turn, "");
    set["replicatedJobs"][1]["dependsOn"] =
        Json::array({{{"name", "leader"}, {"status", "Ready"}}});
    EXPECT_EQ(gangs_of(set.dump().c_str())[0].note.made_in_turn,
              "JobSet train, in which one job depends on another (dependsOn)");
    set["replicatedJobs"].erase(1);
    set["startupPolicy"]["startupPolicyOrder"] = "InOrder";
    EXPECT_EQ(gangs_of(set.dump().c_str())[0].note.made_in_turn, "") << "one job alone";
}

TEST(ConvertGroup, the_queue_of_a_PodGroup_is_used_when_a_user_set_it) {
    const auto queue_in = [](const char* spec) {
        auto gangs = read_gangs(
            R"({"metadata":{"namespace":"t","name":"g"},"spec":)" + std::string{spec} + "}",
            GangField::task_member, LabelKeys{});
        EXPECT_TRUE(gangs.has_value());
        return gangs ? gangs->front().note.queue : "";
    };
    EXPECT_EQ(queue_in(R"({"minMember":3,"queue":"research"})"), "research");
    EXPECT_EQ(queue_in(R"({"minMember":3,"queue":"default"})"), "") << "Volcano fills that in";
    EXPECT_EQ(queue_in(R"({"minMember":3})"), "");
}

TEST(ConvertPod, a_queue_of_another_scheduler_is_a_suggestion) {
    for (const char* pointer :
         {"/metadata/labels/kai.scheduler~1queue", "/metadata/labels/runai~1queue",
          "/metadata/annotations/scheduling.volcano.sh~1queue-name"}) {
        Json pod = basic_pod();
        pod[Json::json_pointer(pointer)] = "research";
        EXPECT_EQ(facts(pod).queue_suggested, "research") << pointer;
        EXPECT_EQ(facts(pod).queue, "") << pointer;
    }
}

}  // namespace
}  // namespace gpuctl::k8s
