// Which job, gang and pool a pod belongs to (ADR 0025).

#include "unit/k8s/convert/convert_fixture.hpp"

namespace gpuctl::k8s {
namespace {

using convert_fixture::basic_pod;
using convert_fixture::facts;
using convert_fixture::Json;

TEST(ConvertJob, a_gang_is_named_by_every_dialect) {
    const auto gang_of = [](const char* pointer, const char* value) {
        Json pod = basic_pod();
        pod[Json::json_pointer(pointer)] = value;
        const PodFacts read = facts(pod);
        EXPECT_TRUE(read.gang) << pointer;
        EXPECT_EQ(read.gang_min, 0) << pointer;
        return read.job;
    };
    EXPECT_EQ(gang_of("/metadata/labels/scheduling.x-k8s.io~1pod-group", "g"), "gang:g");
    EXPECT_EQ(gang_of("/metadata/annotations/scheduling.k8s.io~1group-name", "g"), "gang:g");
    EXPECT_EQ(gang_of("/metadata/annotations/scheduling.volcano.sh~1group-name", "g"), "gang:g");
    EXPECT_EQ(gang_of("/metadata/annotations/pod-group-name", "g"), "gang:g");
    EXPECT_EQ(gang_of("/spec/schedulingGroup/podGroupName", "g"), "gang:g");
    EXPECT_EQ(gang_of("/metadata/labels/runwhere.ai~1gang", "g"), "gang:g");
    EXPECT_EQ(gang_of("/metadata/labels/g8s.host~1gang", "g"), "gang:g");
}

TEST(ConvertJob, size_and_rank_of_a_gang_are_read_from_the_pod) {
    Json pod = basic_pod();
    pod["metadata"]["labels"] = {{"runwhere.ai/gang", "llm"}, {"app", "other"}};
    pod["metadata"]["annotations"] = {{"runwhere.ai/gang-min", "4"},
                                      {"batch.kubernetes.io/job-completion-index", "3"}};
    EXPECT_EQ(facts(pod).job, "gang:llm");
    EXPECT_EQ(facts(pod).gang_min, 4);
    EXPECT_EQ(facts(pod).rank, 3);
    EXPECT_EQ(facts(pod).gang_min_problem, "");
    for (const char* wrong : {"0", "-1", "4x", "99999999999"}) {
        pod["metadata"]["annotations"]["runwhere.ai/gang-min"] = wrong;
        EXPECT_EQ(facts(pod).gang_min, 0) << wrong;
        EXPECT_EQ(facts(pod).gang_min_problem,
                  "the annotation runwhere.ai/gang-min on its pods is \"" + std::string{wrong} +
                      "\", not a whole number of at least 1");
    }
    pod["metadata"]["annotations"]["runwhere.ai/gang-min"] = "";
    EXPECT_EQ(facts(pod).gang_min, 0);
    EXPECT_EQ(facts(pod).gang_min_problem,
              "the annotation runwhere.ai/gang-min on its pods is missing");
}

TEST(ConvertJob, a_size_without_a_gang_is_reported_and_not_started_alone) {
    Json pod = basic_pod();
    pod["metadata"]["annotations"]["runwhere.ai/gang-min"] = "2";
    ASSERT_EQ(facts(pod).unsupported.size(), 1U);
    EXPECT_EQ(facts(pod).unsupported.front(),
              "the annotation runwhere.ai/gang-min without the label runwhere.ai/gang");
    pod["spec"]["schedulingGroup"]["podGroupName"] = "g";
    EXPECT_TRUE(facts(pod).unsupported.empty());
}

// Regression: two Deployments with the same `app` were one job, and its queue was charged for both.
TEST(ConvertJob, the_controller_of_the_pods_is_the_job_whatever_their_labels_are) {
    Json pod = basic_pod();
    pod["metadata"]["labels"] = {{"app", "web"}, {"pod-template-hash", "6d8f"}};
    EXPECT_EQ(facts(pod).job, "pod:a-0");
    const auto made_by = [&pod](const char* kind, const char* name) {
        pod["metadata"]["ownerReferences"] =
            Json::array({{{"kind", "Other"}, {"name", "other"}},
                         {{"kind", kind}, {"name", name}, {"controller", true}, {"uid", "u"}}});
        return facts(pod).job;
    };
    EXPECT_EQ(made_by("ReplicaSet", "web-b-6d8f"), "Deployment.6d8f:web-b");
    EXPECT_EQ(made_by("ReplicaSet", "web-b"), "ReplicaSet.6d8f:web-b");  // only its own
    pod["metadata"]["labels"] = {{"app", "web"}, {"controller-revision-hash", "web-77"}};
    EXPECT_EQ(made_by("StatefulSet", "web-6d8f"), "StatefulSet.web-77:web-6d8f");
    pod["metadata"]["labels"].erase("controller-revision-hash");
    EXPECT_EQ(made_by("Job", "train"), "Job:train");
    pod["metadata"]["labels"]["runwhere.ai/name"] = "mine";
    EXPECT_EQ(facts(pod).job, "Job:train") << "a label that any user can write";
}

TEST(ConvertJob, pods_of_a_submitted_job_belong_to_the_job_that_they_name) {
    Json pod = basic_pod();
    pod["metadata"]["labels"] = {{"app", "lab"}, {"runwhere.ai/job-type", "notebook"}};
    EXPECT_EQ(facts(pod).job, "pod:a-0");
    pod["metadata"]["ownerReferences"] =
        Json::array({{{"kind", "StatefulSet"}, {"name", "lab"}, {"controller", true}}});
    EXPECT_EQ(facts(pod).job, "lab");
    EXPECT_FALSE(facts(pod).preemptible_is_default) << "its YAML has a default of its own";
    pod["metadata"]["ownerReferences"][0]["name"] = "copy-of-lab";
    EXPECT_TRUE(facts(pod).preemptible_is_default);
    EXPECT_EQ(facts(pod).job, "StatefulSet:copy-of-lab") << "its labels were copied with it";
}

// Regression: pods of a user's gang counted as ranks of the submitted job of that name, which
// therefore never ended; they could not start either.
TEST(ConvertJob, a_foreign_gang_is_not_the_submitted_job_of_the_same_name) {
    Json pod = basic_pod();
    pod["metadata"]["labels"] = {{"runwhere.ai/gang", "q7"},
                                 {"runwhere.ai/name", "q7"},
                                 {"runwhere.ai/job-type", "training"}};
    pod["metadata"]["annotations"] = {{"runwhere.ai/gang-min", "2"}};
    EXPECT_EQ(facts(pod).job, "gang:q7") << "nothing that we made controls it";
    const auto made_by = [&pod](const char* name) {
        pod["metadata"]["ownerReferences"] =
            Json::array({{{"kind", "Job"}, {"name", name}, {"controller", true}}});
        return facts(pod).job;
    };
    EXPECT_EQ(made_by("q7"), "q7");
    EXPECT_EQ(made_by("q8"), "gang:q7");
    pod["metadata"]["labels"]["runwhere.ai/gang"] = "q9";
    EXPECT_EQ(made_by("q7"), "gang:q9");
}

TEST(ConvertJob, pool_comes_from_the_label_or_from_what_the_selector_pins) {
    Json pod = basic_pod();
    EXPECT_EQ(facts(pod).pool, "");
    pod["spec"]["nodeSelector"] = {{"runwhere.ai/pool", "train"}};
    EXPECT_EQ(facts(pod).pool, "train");
    pod["metadata"]["labels"] = {{"runwhere.ai/pool", "infer"},
                                 {"g8s.host/pool", "old"},
                                 {"runwhere.ai/queue", "night"},
                                 {"gpuctl/gpuType", "A100"}};
    EXPECT_EQ(facts(pod).pool, "infer");
    EXPECT_EQ(facts(pod).queue, "night");
    EXPECT_EQ(facts(pod).rules.gpu_model, "A100");
}

std::string pool_by(const char* terms) {
    Json pod = basic_pod();
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", Json::parse(terms)}};
    return facts(pod).pool;
}

TEST(ConvertJob, the_one_pool_that_a_required_affinity_allows_is_the_pods) {
    EXPECT_EQ(pool_by(R"([{"matchExpressions":[
        {"key":"runwhere.ai/pool","operator":"In","values":["train"]},
        {"key":"zone","operator":"Exists"}]}])"),
              "train");
    EXPECT_EQ(pool_by(R"([{"matchExpressions":[
        {"key":"runwhere.ai/pool","operator":"In","values":["train","infer"]}]}])"),
              "");
    EXPECT_EQ(pool_by(R"([{"matchExpressions":[
        {"key":"runwhere.ai/pool","operator":"In","values":["train"]}]},
        {"matchExpressions":[{"key":"zone","operator":"Exists"}]}])"),
              "")
        << "the other term allows all";
    EXPECT_EQ(pool_by(R"([{"matchExpressions":[
        {"key":"runwhere.ai/pool","operator":"NotIn","values":["train"]}]}])"),
              "");
}

}  // namespace
}  // namespace gpuctl::k8s
