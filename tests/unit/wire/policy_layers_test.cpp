// The layers of a policy: what they result in, and which do not go together.

#include <gtest/gtest.h>

#include "daemon/config/file_layer.hpp"
#include "daemon/config/load.hpp"

namespace gpuctl::config {
namespace {

using Objects = std::map<PolicyKey, PolicyObject>;

FileLayer layer_of(const std::string& yaml) {
    const Result<Config> config = parse(yaml, "gpuctld.yaml");
    EXPECT_TRUE(config) << config.error().message;
    return file_layer(*config);
}

Objects objects_of(const std::string& yaml) {
    Objects out;
    const Result<std::vector<wire::Document>> documents = wire::parse_yaml(yaml);
    EXPECT_TRUE(documents);
    for (const wire::Document& document : *documents) {
        const Result<ObjectReading> read = read_objects(document, *policy_kind_of(document));
        EXPECT_TRUE(read) << read.error().message;
        for (const ObjectDraft& draft : read->drafts) {
            PolicyObject object;
            object.key = draft.key;
            object.uid = "uid";
            object.document = draft.document;
            out[draft.key] = object;
        }
    }
    return out;
}

std::string layers_refusal(const std::string& file, const std::string& objects) {
    const Result<MergedPolicy> merged = merge_layers(layer_of(file), objects_of(objects));
    return merged ? "merged" : merged.error().message;
}

const PoolPolicy* pool_in_policy(const Policy& policy, const std::string& name) {
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name == name) return &pool;
    }
    return nullptr;
}

constexpr const char* kFile = R"(
policy:
  name: sla
  pools:
    - name: train
      queues: [{name: research, guaranteed: 4, queues: [{name: llm}]}]
  tenants:
    - {name: team-a, gpuMaximum: 4}
cluster:
  embedded:
    nodes: [{name: n, count: 2, pool: train, gpus: 8}]
)";

TEST(PolicyLayers, without_objects_the_policy_is_that_of_the_file) {
    const FileLayer file = layer_of(kFile);
    const Result<MergedPolicy> merged = merge_layers(file, {});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->policy, file.document.policy);
    EXPECT_TRUE(merged->nodes.empty());
}

TEST(PolicyLayers, objects_add_pools_queues_and_quotas_with_the_named_policy_of_the_file) {
    const Result<MergedPolicy> merged = merge_layers(
        layer_of(kFile),
        objects_of("kind: pool\nname: infer\ndescription: served\nnodes: {n-1: {gpuType: L40}}\n"
                   "---\nkind: queue\nqueue: {name: chat, pool: infer, weight: 3}\n"
                   "---\nkind: queue\nqueue: {name: vision, pool: train, parent: research}\n"
                   "---\nkind: quota\nquota: {name: q}\nnamespace: {team-b: {cpu: 8, gpu: 2}}\n"));
    ASSERT_TRUE(merged) << merged.error().message;
    const PoolPolicy* infer = pool_in_policy(merged->policy, "infer");
    ASSERT_NE(infer, nullptr);
    EXPECT_EQ(infer->description, "served");
    EXPECT_EQ(infer->order, pool_in_policy(merged->policy, "train")->order);
    const auto chat = std::find_if(infer->queues.begin(), infer->queues.end(),
                                   [](const QueuePolicy& one) { return one.name == "chat"; });
    ASSERT_NE(chat, infer->queues.end());
    EXPECT_EQ(chat->weight, 3);
    EXPECT_EQ(pool_in_policy(merged->policy, "train")->queues.back().parent, "research");
    EXPECT_EQ(merged->policy.tenants.back().name, "team-b");
    EXPECT_EQ(merged->policy.tenants.back().cpu_maximum, CpuMilli{8'000});
    EXPECT_FALSE(merged->policy.tenants.back().memory_maximum);
    EXPECT_EQ(merged->nodes.at("n-1").pool, "infer");
    EXPECT_EQ(merged->nodes.at("n-1").gpu_model, "L40");
}

TEST(PolicyLayers, a_name_in_both_layers_is_refused_with_the_place_in_the_file) {
    EXPECT_NE(
        layers_refusal(kFile, "kind: pool\nname: train\n").find("pool train is in gpuctld.yaml:5:"),
        std::string::npos);
    EXPECT_NE(
        layers_refusal(kFile, "kind: quota\nquota: {name: q}\nnamespace: {team-a: {gpu: 1}}\n")
            .find("the quota of namespace team-a is in gpuctld.yaml:8:"),
        std::string::npos);
    EXPECT_NE(layers_refusal(kFile, "kind: queue\nqueue: {name: llm, pool: train}\n")
                  .find("queue llm of pool train is in gpuctld.yaml:6:"),
              std::string::npos);
    EXPECT_NE(
        layers_refusal(kFile, "kind: pool\nname: default\n").find("pool default is in the config"),
        std::string::npos);
}

TEST(PolicyLayers, queues_and_nodes_that_do_not_fit_are_refused_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {"kind: queue\nqueue: {name: a, pool: nowhere}\n", "there is no pool nowhere"},
        {"kind: queue\nqueue: {name: a, pool: train, parent: b}\n", "there is no queue b above it"},
        {"kind: queue\nqueue: {name: a, pool: train, parent: research, guaranteed: 6}\n",
         "more than its own 4"},
        {"kind: queue\nqueue: {name: a, pool: train, parent: default}\n", "default"},
        {"kind: pool\nname: p\nnodes: [x]\n---\nkind: pool\nname: q\nnodes: [x]\n",
         "node x is in pool p and in pool q"}};
    for (const auto& [objects, words] : cases) {
        EXPECT_NE(layers_refusal(kFile, objects).find(words), std::string::npos)
            << objects << "\n"
            << layers_refusal(kFile, objects);
    }
}

TEST(PolicyLayers, the_limits_of_a_pool_limit_all_its_queues_together) {
    const Result<MergedPolicy> alone = merge_layers(
        layer_of(""), objects_of("kind: pool\nname: p\nquota: {maxJobs: 2, maxGpuPerJob: 4}\n"));
    ASSERT_TRUE(alone) << alone.error().message;
    const PoolPolicy* pool = pool_in_policy(alone->policy, "p");
    ASSERT_EQ(pool->queues.size(), 1u);
    EXPECT_EQ(pool->queues[0].jobs_maximum, 2);
    EXPECT_EQ(pool->queues[0].gpus_per_job_maximum, whole_gpus(4));

    const Result<MergedPolicy> several = merge_layers(
        layer_of(""), objects_of("kind: pool\nname: p\nquota: {maxJobs: 2, maxGpuPerJob: 4}\n---\n"
                                 "kind: queue\nqueue: {name: a, pool: p, maxGpuPerJob: 2}\n"));
    ASSERT_TRUE(several) << several.error().message;
    pool = pool_in_policy(several->policy, "p");
    ASSERT_EQ(pool->queues.size(), 3u);
    EXPECT_EQ(pool->queues[0].jobs_maximum, 2) << "the queue above all";
    for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_EQ(pool->queues[i].parent, pool->queues[0].name);
        EXPECT_FALSE(pool->queues[i].jobs_maximum);
        EXPECT_EQ(pool->queues[i].gpus_per_job_maximum,
                  pool->queues[i].name == "a" ? whole_gpus(2) : whole_gpus(4));
    }
}

}  // namespace
}  // namespace gpuctl::config
