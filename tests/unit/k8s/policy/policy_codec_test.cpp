// Objects of the policy from API objects and back.

#include <gtest/gtest.h>

#include "k8s/policy/policy_codec.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

PolicyReading reading_of(PolicyKind kind, const json& object) {
    const auto reading = read_policy_object(kind, object.dump(), LabelKeys{});
    EXPECT_TRUE(reading);
    return reading.value_or(PolicyReading{});
}

json compute_pool_json() {
    return {{"metadata",
             {{"name", "infer"},
              {"generation", 3},
              {"creationTimestamp", "2026-11-01T10:00:00Z"},
              {"annotations", {{"runwhere.ai/policy-source", "api"}}}}},
            {"spec",
             {{"description", "served"},
              {"poolType", "gpu"},
              {"nodes", {{{"name", "n1"}, {"gpuType", "L40"}}, {{"name", "n2"}}}},
              {"gpuTypes", {"L40"}},
              {"limits", {{"maxJobs", 3}, {"maxGpuPerJob", "8"}}}}}};
}

TEST(PolicyCodec, a_compute_pool_is_the_pool_that_gpuctl_reads_from_a_file) {
    const PolicyReading reading = reading_of(PolicyKind::pool, compute_pool_json());
    EXPECT_EQ(reading.problem, "");
    EXPECT_EQ(reading.key, (PolicyKey{PolicyKind::pool, "infer"}));
    EXPECT_EQ(reading.source, PolicySource::api);
    EXPECT_EQ(reading.generation, 3);
    EXPECT_EQ(json::parse(reading.document),
              json::parse(R"({"kind":"pool","name":"infer","description":"served",)"
                          R"("nodes":{"n1":{"gpuType":"L40"},"n2":{}},"gpuType":["L40"],)"
                          R"("quota":{"maxJobs":3,"maxGpuPerJob":"8"}})"));
}

TEST(PolicyCodec, what_it_writes_reads_back_as_the_same_document) {
    json quota = {
        {"metadata",
         {{"name", "q1-team-a"},
          {"namespace", "team-a"},
          {"labels", {{"runwhere.ai/quota", "q1"}}}}},
        {"spec",
         {{"hard",
           {{"cpu", "20"}, {"memory", "40Gi"}, {"requests.nvidia.com/gpu", "2"}, {"pods", "7"}}}}}};
    const json queue = {{"metadata", {{"name", "infer.chat"}}},
                        {"spec", {{"pool", "infer"}, {"weight", 2}, {"order", "FIFO"}}}};
    const json space = {{"metadata", {{"name", "team-a"}}}};
    for (const auto& [kind, object] :
         {std::pair{PolicyKind::pool, compute_pool_json()}, std::pair{PolicyKind::quota, quota},
          std::pair{PolicyKind::queue, queue}, std::pair{PolicyKind::name_space, space}}) {
        const PolicyReading reading = reading_of(kind, object);
        ASSERT_FALSE(reading.document.empty()) << reading.problem;
        const json manifest = policy_manifest(reading.key, reading.document, LabelKeys{});
        EXPECT_EQ(manifest["metadata"]["name"], object["metadata"]["name"]);
        const PolicyReading again = reading_of(kind, manifest);
        EXPECT_EQ(json::parse(again.document), json::parse(reading.document));
        EXPECT_EQ(again.source, PolicySource::api);
    }
}

TEST(PolicyCodec, a_quota_limits_the_gpus_of_every_vendor) {
    const json manifest =
        policy_manifest({PolicyKind::quota, "team-a"},
                        R"({"kind":"quota","name":"q1","namespace":"team-a","gpu":"2"})", {});
    const json& hard = manifest["spec"]["hard"];
    EXPECT_EQ(hard["requests.nvidia.com/gpu"], "2");
    EXPECT_EQ(hard["requests.amd.com/gpu"], "2");
    EXPECT_FALSE(hard.contains("nvidia.com/gpu")) << "Kubernetes counts requests only";
    EXPECT_EQ(manifest["metadata"]["labels"]["runwhere.ai/namespace"], "team-a");
    json read = manifest;
    read["spec"]["hard"]["requests.amd.com/gpu"] = "3";
    read["spec"]["hard"]["pods"] = "7";
    const json document = json::parse(reading_of(PolicyKind::quota, read).document);
    EXPECT_EQ(document["gpu"], "3");
    EXPECT_EQ(document["pods"], 7);
}

TEST(PolicyCodec, what_cannot_be_used_says_why) {
    json queue = {{"metadata", {{"name", "chat"}}}, {"spec", {{"pool", "infer"}}}};
    EXPECT_NE(reading_of(PolicyKind::queue, queue).problem.find("POOL.QUEUE"), std::string::npos);
    json pool = compute_pool_json();
    pool["spec"]["nodes"].push_back({{"name", "n1"}});
    const PolicyReading twice = reading_of(PolicyKind::pool, pool);
    EXPECT_NE(twice.problem.find("n1 is given twice"), std::string::npos) << twice.problem;
    EXPECT_EQ(twice.document, "");
    EXPECT_FALSE(read_policy_object(PolicyKind::pool, "{", LabelKeys{}));
}

TEST(PolicyCodec, a_patch_has_only_what_differs_and_removes_what_is_left_out) {
    const json before = {{"spec", {{"a", 1}, {"b", {{"x", 1}, {"y", 2}}}, {"gone", true}}}};
    const json after = {{"spec", {{"a", 1}, {"b", {{"x", 1}, {"y", 3}}}, {"new", "n"}}}};
    EXPECT_EQ(merge_patch_between(before, after),
              (json{{"spec", {{"b", {{"y", 3}}}, {"gone", nullptr}, {"new", "n"}}}}));
    EXPECT_EQ(merge_patch_between(before, before), json::object());
}

}  // namespace
}  // namespace gpuctl::k8s
