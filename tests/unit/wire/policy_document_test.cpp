// A policy by itself, as an adapter of a cluster reads it: the same values, errors and places as in
// gpuctld.yaml.

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/config/load.hpp"
#include "policy_document/policy_document.hpp"
#include "scheduler/base/archive.hpp"

namespace gpuctl::config {
namespace {

constexpr const char* kPolicy = R"(policy:
  name: throughput
  pools:
    - name: training-pool
      policy: batch
      queues:
        - {name: research, weight: 2, guaranteed: 8}
        - {name: dev, maximum: 4}
  tenants:
    - {name: team-a, gpuMaximum: 16, queue: research}
expert:
  scheduling: {planAttemptsMax: 77}
  pools:
    - {name: training-pool, backfill: {shortPercent: 20}}
)";

TEST(PolicyDocument, a_policy_by_itself_has_the_values_that_gpuctld_yaml_gives) {
    const auto alone = parse_policy(kPolicy, "policy training");
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    const PolicyDocument& document = alone->document;
    EXPECT_EQ(document.policy_name, "throughput");
    EXPECT_EQ(policy_of_pool(document, "training-pool").name, "batch");
    EXPECT_EQ(document.policy.plan_attempts_max, 77);
    ASSERT_EQ(document.policy.pools.size(), 1u);
    EXPECT_EQ(document.policy.pools[0].backfill.short_percent, 20);
    // Kubernetes: no nodes are known, so that no pool is added for them.
    const auto whole =
        parse(std::string{kPolicy} + "cluster: {mode: kubernetes}\n", "gpuctld.yaml");
    ASSERT_TRUE(whole.has_value()) << whole.error().message;
    Policy with_default = document.policy;
    for (const PoolPolicy& pool : whole->policy.pools) {
        if (pool.name == kDefaultPool) with_default.pools.push_back(pool);
    }
    EXPECT_EQ(to_archive(with_default), to_archive(whole->policy));
}

TEST(PolicyDocument, json_is_read_as_yaml_is) {
    const auto read = parse_policy(R"({"policy": {"pools": [{"name": "a"}]}})", "policy a");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_EQ(read->document.policy.pools.size(), 1u);
    EXPECT_EQ(read->document.policy.pools[0].name, "a");
}

TEST(PolicyDocument, an_empty_document_is_the_default_policy) {
    const auto read = parse_policy("", "policy a");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(to_archive(read->document.policy), to_archive(Policy{}));
    EXPECT_EQ(read->document.policy_name, kDefaultPolicyName);
}

TEST(PolicyDocument, every_error_is_reported_at_its_place) {
    const auto refused = parse_policy(
        "policy:\n"
        "  pools:\n"
        "    - name: training-pool\n"
        "      queues:\n"
        "        - {name: research, maximum: 4, guaranteed: 8}\n"
        "  tenants:\n"
        "    - {name: team-a, queue: reserch}\n"
        "expert:\n"
        "  scheduling: {planAttempts: 5}\n",
        "policy training");
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidConfiguration);
    std::string all;
    for (const Detail& detail : refused.error().details) {
        all += std::to_string(detail.place.line) + ": " + detail.message + "\n";
    }
    EXPECT_EQ(refused.error().message.substr(0, 18), "policy training:5:") << all;
    EXPECT_NE(all.find("5: queue research is guaranteed 8 GPUs, more than its maximum 4"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("7: no pool has the queue reserch of tenant team-a; did you mean research?"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("9: "), std::string::npos) << all;
}

TEST(PolicyDocument, values_that_do_not_work_together_are_reported_as_in_gpuctld_yaml) {
    const auto read = parse_policy("policy: {pools: [{name: p, policy: sla}]}\n", "policy a");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_EQ(read->warnings.size(), 1u);
    EXPECT_NE(read->warnings[0].find("set policy.evictionsPerJobPerHour: 1000"), std::string::npos);
    EXPECT_TRUE(parse_policy("policy: {pools: [{name: p}]}\n"
                             "expert: {pools: [{name: p, preemption: {mode: due}}]}\n",
                             "policy a")
                    .has_error());
}

TEST(PolicyDocument, keys_of_the_daemon_are_no_keys_of_a_policy) {
    for (const char* text : {"server: {port: 1}\n", "cluster: {mode: kubernetes}\n",
                             "expert: {journal: {queueMax: 9}}\n"}) {
        EXPECT_TRUE(parse_policy(text, "policy a").has_error()) << text;
    }
}

}  // namespace
}  // namespace gpuctl::config
