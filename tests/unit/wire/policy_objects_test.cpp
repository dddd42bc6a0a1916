// Documents of pools, quotas, queues and namespaces: every spelling and what it means, and every
// mistake with a message that is enough to mend it.

#include <gtest/gtest.h>

#include "policy_document/objects/objects.hpp"

namespace gpuctl::config {
namespace {

Result<ObjectReading> read_objects_in(const std::string& yaml, bool strict = false) {
    const Result<std::vector<wire::Document>> documents = wire::parse_yaml(yaml);
    if (!documents) return documents.error();
    const auto kind = policy_kind_of(documents->front());
    if (!kind) return make_error(ErrorCode::UnsupportedKind, "no kind of a policy");
    return read_objects(documents->front(), *kind, strict);
}

std::string canonical(const std::string& yaml) {
    const Result<ObjectReading> reading = read_objects_in(yaml);
    if (!reading) return reading.error().message;
    std::string text;
    for (const ObjectDraft& one : reading->drafts) {
        text += (text.empty() ? "" : "\n") + one.document;
    }
    return text;
}

std::string mistake(const std::string& yaml) {
    const Result<ObjectReading> reading = read_objects_in(yaml);
    return reading ? "accepted" : reading.error().message;
}

constexpr const char* kPool =
    "kind: pool\nversion: v0.1\npool: {name: infer, description: text}\n"
    "nodes: {host-a: {gpuType: A100-80G}, host-b: {}}\n";

TEST(PolicyObjects, every_spelling_of_a_pool_is_the_same_document) {
    const std::string expected = R"({"kind":"pool","name":"infer","description":"text","nodes":)"
                                 R"({"host-a":{"gpuType":"A100-80G"},"host-b":{}}})";
    for (const std::string& yaml :
         {std::string{kPool},
          std::string{"kind: resource\nversion: v1\npool: {name: infer, description: text}\nnodes: "
                      "{host-a: {gpu-type: A100-80G}, host-b: {gpu_type: ''}}\n"},
          std::string{"kind: pool\nmetadata: {name: infer, description: text}\nspec:\n  nodes: "
                      "[{name: host-a, gpuType: A100-80G}, host-b]\n"},
          std::string{"kind: Pool\nname: infer\ndescription: text\nnodes: {host-a: {gpuType: "
                      "A100-80G}, host-b: }\n"}}) {
        EXPECT_EQ(canonical(yaml), expected) << yaml;
    }
}

TEST(Acceptance, A14_kind_resource_is_kind_pool) {
    const std::string resource =
        "kind: resource\nresource: {name: infer, description: text}\n"
        "nodes: {host-a: {gpuType: A100-80G}, host-b: {}}\n";
    EXPECT_EQ(canonical(resource), canonical(kPool));
}

TEST(PolicyObjects, what_is_stored_reads_back_as_the_same) {
    for (const char* yaml :
         {kPool, "kind: pool\npool: {name: empty}\n",
          "kind: pool\nname: p\nnodes: []\ngpuType: [A100, L40]\nquota: {maxJobs: 3, maxGpuPerJob: "
          "2.5}\n",
          "kind: quota\nquota: {name: q}\nnamespace: {team-x: {cpu: 1500m, memory: 64Gi, gpu: "
          "8}}\n",
          "kind: queue\nqueue: {name: llm, pool: p, parent: research, maximum: 4, order: FIFO}\n",
          "kind: namespace\nname: team-a\n"}) {
        const std::string stored = canonical(yaml);
        EXPECT_EQ(canonical(stored), stored) << yaml;
    }
}

TEST(PolicyObjects, a_quota_document_gives_one_object_for_each_namespace) {
    const std::string expected =
        R"({"kind":"quota","name":"q1","namespace":"team-x","cpu":"16","memory":"64Gi","gpu":"8"})"
        "\n"
        R"({"kind":"quota","name":"q1","namespace":"default","cpu":"20","memory":"40Gi","gpu":"2"})";
    EXPECT_EQ(canonical("kind: quota\nquota: {name: q1}\ndefault: {cpu: 20, memory: 40Gi, gpu: 2}\n"
                        "namespace: {team-x: {cpu: 16, memory: 64Gi, gpu: 8}}\n"),
              expected);
    EXPECT_EQ(canonical("kind: quota\nmetadata: {name: q1}\ndefault: {cpu: 20, memory: 40Gi, gpu: "
                        "2}\nusers: {team-x: {cpu: '16', memory: 64Gi, gpu: '8'}}\n"),
              expected);
    EXPECT_EQ(canonical("kind: quota\nmetadata: {name: q1, namespace: team-x}\nspec: {cpu: 16, "
                        "memory: 64Gi, gpu: 8}\n"),
              expected.substr(0, expected.find('\n')));
}

TEST(Acceptance, K7_a_limit_that_is_left_out_is_no_limit) {
    EXPECT_EQ(canonical("kind: quota\nquota: {name: q}\ndefault: {memory: 40Gi}\n"),
              R"({"kind":"quota","name":"q","namespace":"default","memory":"40Gi"})");
}

TEST(Acceptance, A15_a_gpu_quota_that_is_no_count_is_refused) {
    const std::string before = "kind: quota\nquota: {name: q}\nnamespace: {team-x: {gpu: ";
    EXPECT_EQ(
        mistake(before + "abc}}\n"),
        "the quota document: line 3, column 22: namespace.team-x.gpu must be a whole number of "
        "GPUs, 0 or more, not \"abc\"");
    EXPECT_NE(mistake(before + "-1}}\n").find("0 or more, not \"-1\""), std::string::npos);
    EXPECT_NE(mistake(before + "1.5}}\n").find("must be a whole number"), std::string::npos);
}

TEST(PolicyObjects, each_mistake_names_its_line_and_what_to_write) {
    const std::pair<const char*, const char*> cases[] = {
        {"kind: pool\nnodes: {a: {}}\n", "name is missing"},
        {"kind: pool\npool: {name: Infer}\n", "\"Infer\""},
        {"kind: pool\nname: p\nnodes: [a, a]\n", "node a is given twice"},
        {"kind: pool\nname: p\nnodes: {a: A100}\n", "must be a map"},
        {"kind: pool\nname: p\nnodes: {a: {gpuType: 'a b'}}\n", "\"a b\""},
        {"kind: quota\nquota: {name: q}\n", "a quota needs a namespace"},
        {"kind: quota\nquota: {name: q}\nnamespace: {T: {gpu: 1}}\n", "\"T\""},
        {"kind: quota\nquota: {name: q}\nnamespace: {t: {pods: -3}}\n", "pods"},
        {"kind: quota\nquota: {name: q}\nnamespace: {t: {memory: 64 apples}}\n", "64 apples"},
        {"kind: queue\nqueue: {name: default}\n", "every pool has the queue default"},
        {"kind: queue\nqueue: {name: a, queues: [{name: b}]}\n", "with parent: a"},
        {"kind: queue\nqueue: {name: a, weigth: 2}\n", "weight"},
        {"kind: queue\nqueue: {name: a, guaranteed: 4, maximum: 2}\n", "more than its maximum 2"},
        {"kind: namespace\nname: a.b\n", "\"a.b\""}};
    for (const auto& [yaml, words] : cases) {
        EXPECT_NE(mistake(yaml).find(words), std::string::npos) << yaml << "\n" << mistake(yaml);
    }
}

TEST(PolicyObjects, an_unknown_key_warns_with_the_nearest_and_is_refused_when_strict) {
    const std::string yaml = "kind: pool\npool: {name: p, descripton: x}\n";
    const Result<ObjectReading> reading = read_objects_in(yaml);
    ASSERT_TRUE(reading);
    ASSERT_EQ(reading->warnings.size(), 1u);
    EXPECT_NE(reading->warnings[0].message.find("description"), std::string::npos);
    EXPECT_FALSE(read_objects_in(yaml, true));
}

TEST(PolicyObjects, a_file_that_is_refused_today_still_names_what_it_made) {
    const Result<std::vector<wire::Document>> documents =
        wire::parse_yaml("kind: quota\nquota: {name: q}\nnamespace: {t: {gpu: abc}, u: {}}\n");
    ASSERT_TRUE(documents);
    const auto keys = keys_in(documents->front(), PolicyKind::quota);
    ASSERT_TRUE(keys);
    EXPECT_EQ(*keys, (std::vector<PolicyKey>{{PolicyKind::quota, "t"}, {PolicyKind::quota, "u"}}));
}

}  // namespace
}  // namespace gpuctl::config
