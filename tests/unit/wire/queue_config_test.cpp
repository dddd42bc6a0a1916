// Queues in gpuctld.yaml: nested as written, flat as in the engine, and every mistake with its
// line.

#include <gtest/gtest.h>

#include "daemon/config/load.hpp"

namespace gpuctl::config {
namespace {

std::string refusal_of(const std::string& yaml) {
    const Result<Config> read = parse(yaml, "test.yaml");
    return read ? "accepted" : read.error().message;
}

constexpr const char* kTree = R"(
policy:
  pools:
    - name: p
      order: CAPACITY
      queues:
        - name: research
          guaranteed: 8
          maximum: 24
          queues:
            - {name: llm, guaranteed: 4, lendingLimit: 1, order: FIFO, maxJobs: 3}
            - {name: vision, borrowingLimit: 2, maxGpuPerJob: 8,
               models: [{model: a100-100g, guaranteed: 1, maximum: 3}]}
        - name: teams
          queues:
            - name: a
              guaranteed: 2
              queues: [{name: deep, guaranteed: 1}]
  tenants:
    - {name: t, queue: llm, pools: [{pool: p, gpuMaximum: 4}]}
expert:
  scheduling: {usageHalfLife: 2d, ageingStep: 10, ageingEvery: 5m, ageingMaximum: 1000}
)";

TEST(QueueConfiguration, a_tree_is_flattened_with_parents_before_children) {
    const Result<Config> config = parse(kTree, "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    const PoolPolicy& pool = config->policy.pools.at(0);
    EXPECT_EQ(pool.order, QueueOrder::capacity);
    std::vector<std::string> places;
    for (const QueuePolicy& queue : pool.queues) {
        places.push_back(queue.parent + ">" + queue.name);
    }
    EXPECT_EQ(places, (std::vector<std::string>{">research", "research>llm", "research>vision",
                                                ">teams", "teams>a", "a>deep"}));
    QueuePolicy llm{"llm", 0, 1, whole_gpus(4), std::nullopt, "research"};
    llm.order = QueueOrder::fifo;
    llm.lending_limit = whole_gpus(1);
    llm.jobs_maximum = 3;
    EXPECT_EQ(pool.queues[1], llm);
    EXPECT_EQ(pool.queues[2].borrowing_limit, whole_gpus(2));
    EXPECT_EQ(pool.queues[2].gpus_per_job_maximum, whole_gpus(8));
    EXPECT_EQ(pool.queues[2].models,
              (std::vector<ModelLimit>{{"a100-100g", whole_gpus(1), whole_gpus(3)}}));
    EXPECT_EQ(pool.queues[3].guaranteed, whole_gpus(2)) << "what its sub-queues are guaranteed";
    EXPECT_EQ(config->policy.tenants.at(0).pools, (std::vector<PoolQuota>{{"p", whole_gpus(4)}}));
    EXPECT_EQ(config->policy.usage_half_life, Duration{2 * 86'400'000});
    EXPECT_EQ(config->policy.ageing_every, Duration{300'000});
}

TEST(QueueConfiguration, a_printed_tree_reads_back) {
    const Result<Config> config = parse(kTree, "test.yaml");
    ASSERT_TRUE(config);
    const Result<Config> again = parse(print_config(*config), "printed.yaml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->policy, config->policy);
}

// Queues of a pool, and what their refusal says.
constexpr std::pair<const char*, const char*> kMistakes[] = {
    {"    - {name: q, guaranteed: 9, maximum: 8}",
     "test.yaml:5:17: queue q is guaranteed 9 GPUs, more than its maximum 8"},
    {"    - name: q\n      guaranteed: 4\n      queues:\n"
     "      - {name: a, guaranteed: 3}\n      - {name: b, guaranteed: 2}",
     "test.yaml:7:7: the sub-queues of q are guaranteed 5 GPUs together, more than its own 4"},
    {"    - name: q\n      maximum: 4\n      queues:\n      - {name: a, guaranteed: 5}",
     "test.yaml:5:7: queue q is guaranteed 5 GPUs, more than its maximum 4"},
    {"    - name: a\n      maximum: 10\n      queues:\n      - {name: b, maximum: 20}",
     "test.yaml:8:19: queue b may hold 20 GPUs at most, more than the 10 of the queue a above "
     "it"},
    {"    - name: a\n      queues:\n      - name: b\n        queues: [{name: c, maximum: 11}]\n"
     "      maximum: 10",
     "test.yaml:8:28: queue c may hold 11 GPUs at most, more than the 10 of the queue a above "
     "it"},
    {"    - {name: q, weight: 0}", "test.yaml:5:17: policy.pools.0.queues.0.weight must be"},
    {"    - {name: q, weight: -1}", "test.yaml:5:17: policy.pools.0.queues.0.weight must be"},
    {"    - name: q\n      queues:\n      - {name: a}\n    - name: b\n      queues:\n"
     "      - {name: a}",
     "test.yaml:10:9: the queue a is given twice in pool p; names are unique in their pool"},
    {"    - name: q\n      queues:\n      - {name: q}",
     "test.yaml:7:9: the queue q is given twice in pool p"},
    // Regression: in a pool with nodes its tree is walked by name, and a cycle was walked
    // without end.
    {"    - name: q\n  - name: training-pool\n    queues:\n"
     "    - {name: a, queues: [{name: b, queues: [{name: a}]}]}",
     "the queue a is given twice in pool training-pool"},
    {"    - name: q\n  - name: training-pool\n    queues:\n    - {name: ''}",
     "a queue needs a name"},
    {"    - name: q\n      queues:\n      - {name: a, wieght: 2}",
     "test.yaml:7:19: unknown key \"wieght\"; did you mean weight?"},
    {"    - {name: q, parent: x}", "test.yaml:5:17: unknown key \"parent\""},
    {"    - {name: q, order: LIFO}",
     "order must be one of FAIR_SHARE, FIFO, PRIORITY, CAPACITY, SHORTEST, not \"LIFO\""},
    {"    - {name: q, maxJobs: 0}", "maxJobs must be"},
    {"    - {name: q, guaranteed: 1, lendingLimit: 2}",
     "test.yaml:5:32: queue q cannot lend 2 GPUs: it is guaranteed 1"},
    {"    - name: default\n      queues: [{name: a}]",
     "the queue default takes jobs that name no queue; it can have no sub-queues"},
    {"    - name: q\n      models:\n      - {model: A100-80G, maximum: 1}",
     "test.yaml:7:10: no node has a GPU of model A100-80G; did you mean A100-100G?"},
    {"    - name: q\n  - name: training-pool\n    queues:\n"
     "    - {name: c, models: [{model: a10-24g, guaranteed: 3}]}",
     "no node of pool training-pool has a GPU of model a10-24g"},
    {"    - name: q\n      models:\n      - {model: A100-100G, guaranteed: 3, maximum: 1}",
     "test.yaml:7:9: 3 GPUs of model A100-100G are guaranteed, more than the maximum 1"},
    {"    - name: q\n      guaranteed: 2\n      models: [{model: A100-100G, guaranteed: 4}]",
     "test.yaml:7:7: queue q is guaranteed 4 GPUs of these models together, more than the 2 "
     "that it is guaranteed of all models"},
    {"    - name: q\n      maximum: 3\n      models: [{model: A100-100G, guaranteed: 4}]",
     "test.yaml:5:7: queue q is guaranteed 4 GPUs, more than its maximum 3"},
    {"    - name: q\n      models:\n      - {model: A100-100G}\n      - {model: a100-100g}",
     "the GPU model a100-100g is given twice"},
    {"    - name: q\n      models: [{model: A100-100G, guaranteed: 1}]\n      queues:\n"
     "      - {name: a, models: [{model: A100-100G, guaranteed: 2}]}",
     "the sub-queues of q are guaranteed 2 GPUs of model A100-100G together, more than its own "
     "1"},
    {"    - name: q\n      models: [{model: A100-100G, maximum: 1}]\n      queues:\n"
     "      - name: a\n        queues:\n        - name: b\n"
     "          models: [{model: a100-100g, guaranteed: 2}]",
     "the sub-queues of q are guaranteed 2 GPUs of model A100-100G together, more than its own "
     "0"},
    {"    - name: q\n      models: [{model: A100-100G, maximum: 2}]\n      queues:\n"
     "      - name: a\n        queues:\n        - name: b\n"
     "          models: [{model: a100-100g, maximum: 3}]",
     "test.yaml:11:11: queue b may hold 3 GPUs of model a100-100g at most, more than the 2 of "
     "the queue q above it"},
    {"    - name: q\n      maximum: 2\n      models: [{model: A100-100G, maximum: 3}]",
     "test.yaml:7:7: queue q may hold 3 GPUs of model A100-100G at most, more than the 2 that "
     "it may hold of all models"},
    {"    - {name: q, maximum: 0.0001}",
     "test.yaml:5:17: policy.pools.0.queues.0.maximum must be a number of GPUs with at most "
     "three decimals, not \"0.0001\""},
    {"    - {name: q, queues: 5}", "policy.pools.0.queues.0.queues must be a list"},
    {"    - ~", "must be a map"},
};

TEST(QueueConfiguration, every_mistake_is_reported_with_its_line) {
    const std::string pool = "policy:\n  pools:\n  - name: p\n    queues:\n";
    for (const auto& [yaml, expected] : kMistakes) {
        const std::string message = refusal_of(pool + yaml + "\n");
        EXPECT_NE(message.find(expected), std::string::npos) << yaml << "\n -> " << message;
        EXPECT_EQ(message.rfind("test.yaml:", 0), 0u) << message;
    }
    const std::string inner = pool +
                              "    - name: q\n      queues: [{name: a}]\n"
                              "  tenants: [{name: t, queue: q}]\n";
    EXPECT_NE(refusal_of(inner).find("queue q of tenant t holds queues, not jobs"),
              std::string::npos);
}

// Regression: accepted without a message where no node of the pool has any GPU.
TEST(QueueConfiguration, a_model_must_be_on_nodes_of_the_pool) {
    const auto pool = [](const std::string& name) {
        return "policy: {pools: [{name: " + name +
               ", queues: [{name: q, models: [{model: V100-32G, guaranteed: 2}]}]}]}\n";
    };
    EXPECT_EQ(refusal_of(pool("default")), "accepted");
    EXPECT_NE(
        refusal_of(pool("test-pool")).find("no node of pool test-pool has a GPU of model V100-32G"),
        std::string::npos)
        << refusal_of(pool("test-pool"));
    const Result<Config> without_nodes = parse(pool("moon"), "test.yaml");
    ASSERT_TRUE(without_nodes) << without_nodes.error().message;
    ASSERT_EQ(without_nodes->warnings.size(), 2u);
    EXPECT_NE(without_nodes->warnings[1].find("no node of pool moon has a GPU of model V100-32G"),
              std::string::npos);
}

TEST(QueueConfiguration, guarantees_of_a_model_do_not_exceed_the_pool) {
    const auto with_guarantee = [](int below) {
        return refusal_of(
            "cluster:\n  mode: embedded\n  embedded:\n    nodes:\n"
            "    - {name: a, count: 1, pool: p, gpuModel: A100-80G, gpus: 8}\n"
            "    - {name: h, count: 2, pool: p, gpuModel: H100-80G, gpus: 4}\n"
            "policy:\n  pools:\n  - name: p\n    queues:\n"
            "    - {name: q, models: [{model: H100-80G, guaranteed: 4}]}\n"
            "    - {name: r, queues: [{name: s, models: [{model: h100-80g, guaranteed: " +
            std::to_string(below) + "}]}]}\n");
    };
    EXPECT_EQ(with_guarantee(4), "accepted");
    EXPECT_NE(with_guarantee(5).find("pool p has 8 GPUs of model H100-80G; its queues cannot be "
                                     "guaranteed 9"),
              std::string::npos)
        << with_guarantee(5);
}

TEST(QueueConfiguration, a_queue_may_have_the_maximum_of_its_parent) {
    EXPECT_EQ(refusal_of("policy:\n  pools:\n  - name: p\n    queues:\n"
                         "    - {name: a, maximum: 10, queues: [{name: b, maximum: 10}]}\n"),
              "accepted");
}

TEST(QueueConfiguration, a_tree_has_eight_levels_at_most) {
    const auto tree = [](int levels) {
        std::string yaml = "policy:\n  pools:\n  - name: p\n";
        std::string indent = "    ";
        for (int level = 0; level < levels; ++level) {
            yaml += indent + "queues:\n" + indent + "- name: q" + std::to_string(level) + "\n";
            indent += "  ";
        }
        return yaml;
    };
    EXPECT_EQ(refusal_of(tree(kQueueDepthMaximum)), "accepted");
    EXPECT_NE(refusal_of(tree(kQueueDepthMaximum + 1)).find("at most 8 levels are allowed"),
              std::string::npos);
}

std::string with_reserve(const std::string& written) {
    return R"(
cluster:
  embedded:
    nodes: [{name: n, count: 2, pool: p, gpus: 8}]
policy:
  pools:
    - name: p
      queues: [{name: a, guaranteed: 10}, {name: b, guaranteed: 4}]
      reserve: )" +
           written + "\n";
}

TEST(QueueConfiguration, a_reserve_is_a_part_of_the_pool_or_a_number_of_gpus) {
    const Result<Config> part = parse(with_reserve("12%"), "test.yaml");
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->policy.pools.at(0).reserve_percent, 12);
    const Result<Config> number = parse(with_reserve("2"), "test.yaml");
    ASSERT_TRUE(number) << number.error().message;
    EXPECT_EQ(number->policy.pools.at(0).reserve_gpus, whole_gpus(2));
    EXPECT_NE(refusal_of(with_reserve("95%")).find("must be from 0% to 90%"), std::string::npos);
}

TEST(QueueConfiguration, a_reserve_is_a_whole_percentage) {
    EXPECT_EQ(refusal_of(with_reserve("10.5%")),
              "test.yaml:9:7: policy.pools.0.reserve must be from 0% to 90% in whole per cent, or "
              "a number of GPUs, not \"10.5%\"");
    for (const char* wrong : {"9.9999999999%", "0.1%", "100m%", "-1%", "ten%", "91%"}) {
        EXPECT_NE(refusal_of(with_reserve(wrong)).find("must be from 0% to 90%"), std::string::npos)
            << wrong;
    }
}

TEST(QueueConfiguration, guarantees_must_fit_in_addition_to_the_reserve) {
    EXPECT_EQ(refusal_of(with_reserve("3")),
              "test.yaml:9:7: pool p has 16 GPUs; with 3 of them reserved "
              "its queues cannot be guaranteed 14");
    EXPECT_EQ(refusal_of(with_reserve("2")), "accepted");
    std::string more = with_reserve("0");
    more.replace(more.find("guaranteed: 4"), 13, "guaranteed: 7");
    EXPECT_EQ(refusal_of(more),
              "test.yaml:8:7: pool p has 16 GPUs; its queues cannot be guaranteed 17");
}

TEST(QueueConfiguration, a_guarantee_does_not_exceed_the_maximum) {
    const auto with = [](const std::string& queue) {
        return "cluster:\n  embedded:\n    nodes:\n      - {name: n, count: 2, gpus: 8, pool: p, "
               "gpuModel: A100}\n      - {name: c, count: 2, pool: p, gpus: 0}\n"
               "policy:\n  pools:\n    - name: p\n      queues: [{name: a, " +
               queue + "}]\n";
    };
    EXPECT_EQ(refusal_of(with("guaranteed: 6, models: [{model: A100, maximum: 2}]")),
              "test.yaml:9:7: queue a of pool p is guaranteed 6 GPUs, and its maxima of GPU models "
              "let it hold 2");
    EXPECT_EQ(refusal_of(with("guaranteed: 2, models: [{model: A100, maximum: 2}]")), "accepted");
    EXPECT_EQ(
        refusal_of(with("guaranteed: 6, queues: [{name: b, maximum: 2}, {name: d, maximum: 3}]")),
        "test.yaml:9:41: the sub-queues of a may hold 5 GPUs together at most, less than the 6 "
        "that it is guaranteed");
    EXPECT_EQ(refusal_of(with("guaranteed: 6, queues: [{name: b, maximum: 2}, {name: d}]")),
              "accepted");
    // The borrowing limit is a maximum as well, and so is the sum of the sub-queues' maxima.
    EXPECT_EQ(
        refusal_of(with("guaranteed: 6, queues: [{name: b, borrowingLimit: 2}, {name: d, "
                        "guaranteed: 1, borrowingLimit: 1}]")),
        "test.yaml:9:41: the sub-queues of a may hold 4 GPUs together at most, less than the 6 "
        "that it is guaranteed");
    EXPECT_EQ(
        refusal_of(with("guaranteed: 6, queues: [{name: b, queues: [{name: d, maximum: 3}]}]")),
        "test.yaml:9:41: the sub-queues of a may hold 3 GPUs together at most, less than the 6 "
        "that it is guaranteed");
    EXPECT_EQ(refusal_of(with("models: [{model: A100, guaranteed: 6}], queues: [{name: b, models: "
                              "[{model: a100, maximum: 2}]}]")),
              "test.yaml:9:66: the sub-queues of a may hold 2 GPUs of model A100 together at most, "
              "less than the 6 that it is guaranteed of it");
}

TEST(QueueConfiguration, a_reserve_does_not_exceed_the_pool) {
    const std::string text =
        "cluster:\n  embedded: {nodes: [{name: n, count: 2, gpus: 8, pool: p}]}\n"
        "policy:\n  pools: [{name: p, reserve: 1000}]\n";
    EXPECT_NE(refusal_of(text).find("pool p has 16 GPUs and cannot reserve 1000 of them"),
              std::string::npos)
        << refusal_of(text);
}

TEST(QueueConfiguration, quotas_of_namespaces_are_in_existing_pools) {
    const auto with_quota = [](const std::string& pool) {
        return "policy:\n  pools: [{name: p}]\n  tenants:\n    - {name: t, pools: [{pool: " + pool +
               ", gpuMaximum: 1}]}\n";
    };
    for (const char* known : {"p", "dev-pool", "default"}) {
        EXPECT_EQ(refusal_of(with_quota(known)), "accepted") << known;
    }
    EXPECT_EQ(refusal_of(with_quota("dev-pol")),
              "test.yaml:4:26: there is no pool dev-pol; did you mean dev-pool?");
    EXPECT_EQ(refusal_of(with_quota("zzzz")),
              "test.yaml:4:26: there is no pool zzzz; pools are those of cluster.embedded.nodes "
              "and policy.pools");
    EXPECT_EQ(refusal_of("cluster: {mode: kubernetes}\n" + with_quota("zzzz")), "accepted")
        << "there the labels of nodes that come later say what pools there are";
}

TEST(QueueConfiguration, a_namespace_may_hold_no_more_of_a_pool_than_of_all) {
    const auto with = [](const char* of_pool) {
        return refusal_of("policy:\n  pools: [{name: p}]\n  tenants:\n  - name: t\n" +
                          std::string{"    gpuMaximum: 8\n    pools: [{pool: p, gpuMaximum: "} +
                          of_pool + "}]\n");
    };
    EXPECT_EQ(with("8"), "accepted");
    EXPECT_EQ(with("8.5"),
              "test.yaml:6:5: tenant t may hold 8.5 GPUs of pool p, more than the 8 that it may "
              "hold of all pools");
}

}  // namespace
}  // namespace gpuctl::config
