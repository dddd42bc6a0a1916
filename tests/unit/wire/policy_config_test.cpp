// Named policies and the section `expert` of gpuctld.yaml, moved keys, and the source of each
// printed value.

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/config/load.hpp"
#include "scheduler/model/policy/named_policy.hpp"

namespace gpuctl::config {
namespace {

using Variables = std::map<std::string, std::string>;

Config read_policy(const std::string& yaml, const Variables& environment = {}) {
    const Result<Config> config = parse(yaml, "test.yaml", environment);
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    return config ? *config : Config{};
}

std::string refused_policy(const std::string& yaml, const Variables& environment = {}) {
    const Result<Config> config = parse(yaml, "test.yaml", environment);
    return config ? "accepted" : config.error().message;
}

const PoolPolicy& pool_called(const Config& config, const std::string& name) {
    for (const PoolPolicy& pool : config.policy.pools) {
        if (pool.name == name) return pool;
    }
    static const PoolPolicy none;
    ADD_FAILURE() << "no pool " << name;
    return none;
}

QueueOrder order_of(const PoolPolicy& pool, const std::string& name) {
    for (const QueuePolicy& queue : pool.queues) {
        if (queue.name == name) return queue.order;
    }
    ADD_FAILURE() << "no queue " << name;
    return {};
}

// The line of a printed configuration that has this key after that line.
std::string printed_line(const std::string& printed, const std::string& after,
                         const std::string& key) {
    const std::size_t from = printed.find(after);
    const std::size_t at = printed.find(" " + key + ": ", from);
    if (from == std::string::npos || at == std::string::npos) return "none";
    return printed.substr(at + 1, printed.find('\n', at) - at - 1);
}

TEST(NamedPolicies, the_default_one_is_what_a_pool_without_a_policy_has) {
    const NamedPolicy* balanced = find_named_policy(kDefaultPolicyName);
    ASSERT_NE(balanced, nullptr);
    EXPECT_EQ(balanced, &named_policies().front());
    PoolPolicy pool;
    apply_named_policy(*balanced, pool);
    EXPECT_EQ(pool, PoolPolicy{});
    EXPECT_EQ(balanced->order, QueuePolicy{}.order);
    EXPECT_EQ(balanced->evictions_per_job_per_hour, Policy{}.evictions_per_job_per_hour);
}

TEST(NamedPolicies, naming_the_default_one_changes_nothing) {
    const std::string pools = "  pools: [{name: training-pool, queues: [{name: q, weight: 2}]}]\n";
    const Config without = read_policy("policy:\n" + pools);
    EXPECT_EQ(read_policy("policy:\n  name: balanced\n" + pools).policy, without.policy);
    EXPECT_EQ(read_policy("policy: {name: balanced}\n").policy, Policy{});
    EXPECT_EQ(read_policy("").policy, Policy{});
}

TEST(NamedPolicies, the_policy_of_the_cluster_applies_to_every_known_pool) {
    const Config config = read_policy(
        "policy:\n  name: throughput\n  pools: [{name: training-pool, queues: [{name: q}]}]\n");
    const NamedPolicy& throughput = *find_named_policy("throughput");
    EXPECT_EQ(config.policy.evictions_per_job_per_hour, throughput.evictions_per_job_per_hour);
    for (const char* name : {"training-pool", "inference-pool", "dev-pool", "default"}) {
        const PoolPolicy& pool = pool_called(config, name);
        EXPECT_EQ(pool.order, QueueOrder::shortest) << name;
        EXPECT_EQ(pool.backfill, throughput.backfill) << name;
        EXPECT_EQ(pool.preemption, throughput.preemption) << name;
        EXPECT_EQ(order_of(pool, kDefaultQueue), QueueOrder::shortest) << name;
    }
    EXPECT_EQ(order_of(pool_called(config, "training-pool"), "q"), QueueOrder::shortest);
    EXPECT_EQ(read_policy("", {{"GPUCTLD_POLICY_NAME", "fair"}}).policy.pools.size(), 5u);
}

TEST(NamedPolicies, the_policy_of_a_pool_wins_over_that_of_the_cluster) {
    const Config config = read_policy(R"(
policy:
  pools:
    - name: training-pool
      policy: sla
      order: CAPACITY
      preemption: {victims: preemptible}
      queues:
        - {name: given, order: FIFO}
        - name: outer
          queues: [{name: inner}]
    - {name: dev-pool}
)");
    const PoolPolicy& pool = pool_called(config, "training-pool");
    EXPECT_EQ(pool.order, QueueOrder::capacity);
    EXPECT_EQ(order_of(pool, "given"), QueueOrder::fifo);
    EXPECT_EQ(order_of(pool, "outer"), QueueOrder::shortest);
    EXPECT_EQ(order_of(pool, "inner"), QueueOrder::shortest);
    PreemptionPolicy expected = find_named_policy("sla")->preemption;
    expected.victims = PreemptionVictims::preemptible;
    EXPECT_EQ(pool.preemption, expected);
    EXPECT_EQ(pool_called(config, "dev-pool").preemption, PreemptionPolicy{});
    EXPECT_EQ(config.policy.evictions_per_job_per_hour, 2) << "of the cluster, not of one pool";
}

TEST(NamedPolicies, a_number_in_its_own_place_wins_over_the_name_in_either_order_of_keys) {
    for (const char* yaml : {"policy: {evictionsPerJobPerHour: 5, name: throughput}",
                             "policy: {name: throughput, evictionsPerJobPerHour: 5}"}) {
        EXPECT_EQ(read_policy(yaml).policy.evictions_per_job_per_hour, 5) << yaml;
    }
}

TEST(NamedPolicies, an_unknown_name_is_an_error_that_lists_the_names) {
    EXPECT_EQ(refused_policy("policy:\n  name: quickest\n"),
              "test.yaml:2:3: policy.name must be one of balanced, throughput, fair, sla, batch, "
              "not \"quickest\"");
    EXPECT_EQ(refused_policy("policy:\n  name: throughputt\n"),
              "test.yaml:2:3: policy.name must be one of balanced, throughput, fair, sla, batch, "
              "not \"throughputt\"; did you mean throughput?");
    EXPECT_EQ(refused_policy("policy:\n  pools:\n  - {name: p, policy: blanced}\n"),
              "test.yaml:3:15: policy.pools.0.policy must be one of balanced, throughput, fair, "
              "sla, batch, not \"blanced\"; did you mean balanced?");
}

TEST(NamedPolicies, on_kubernetes_a_warning_says_which_pools_do_not_use_the_cluster_s_policy) {
    const Config config = read_policy("cluster: {mode: kubernetes}\npolicy: {name: batch}\n");
    ASSERT_EQ(config.warnings.size(), 1u);
    EXPECT_NE(config.warnings[0].find("list it in policy.pools"), std::string::npos);
    ASSERT_EQ(config.policy.pools.size(), 1u);
    EXPECT_EQ(config.policy.pools[0].name, kDefaultPool);
}

using Warnings = std::vector<std::string>;

// The warnings for the default nodes.
Warnings warnings_for(const std::string& yaml) { return read_policy(yaml).warnings; }

TEST(NamedPolicies, a_policy_of_one_pool_warns_of_the_evictions_per_hour_of_the_cluster) {
    const std::string pool = "policy:\n  pools:\n  - {name: training-pool, policy: throughput}\n";
    EXPECT_EQ(warnings_for(pool),
              Warnings{"test.yaml:3:27: policy.evictionsPerJobPerHour is 2 (policy balanced), one "
                       "value for all pools: in pool training-pool (preemption.mode shortest) a "
                       "job that was preempted 2 times in an hour is not preempted again in that "
                       "hour; set policy.evictionsPerJobPerHour: 1000"});
    EXPECT_EQ(warnings_for(pool + "  evictionsPerJobPerHour: 5\n"), Warnings{});
    EXPECT_EQ(warnings_for("policy: {name: throughput}\n"), Warnings{});
    EXPECT_EQ(warnings_for("policy:\n  pools:\n  - {name: training-pool, policy: batch}\n"),
              Warnings{});
}

// Regression: the pool made no reservation and preempted nothing, so its head of line starved.
TEST(PreemptionByRunTime, needs_a_queue_of_order_shortest) {
    const auto yaml = [](const std::string& queues) {
        return "policy:\n  evictionsPerJobPerHour: 9\n  pools:\n  - name: training-pool\n    "
               "queues: [" +
               queues +
               "]\nexpert:\n  pools:\n  - {name: training-pool, preemption: {mode: shortest}}\n";
    };
    EXPECT_EQ(refused_policy(yaml("{name: q}")),
              "test.yaml:8:40: expert.pools[].preemption.mode shortest needs a queue with "
              "policy.pools[].queues[].order SHORTEST in pool training-pool: only jobs of such "
              "queues preempt by run time, and no job of the pool gets a head-of-line reservation");
    EXPECT_NE(refused_policy(yaml("{name: q, order: SHORTEST, queues: [{name: r}]}")), "accepted")
        << "a queue with sub-queues takes no jobs";
    EXPECT_EQ(refused_policy(yaml("{name: default, order: SHORTEST}")), "accepted");
    EXPECT_EQ(warnings_for(yaml("{name: q, order: SHORTEST}")),
              Warnings{"test.yaml:8:40: queue default of pool training-pool has order FAIR_SHARE: "
                       "with preemption.mode shortest its jobs preempt no job by run time and get "
                       "no reservation; set order: SHORTEST"});
    EXPECT_EQ(refused_policy("policy:\n  name: fair\n  pools:\n  - name: training-pool\n    "
                             "queues: [{name: default, order: FIFO}]\n")
                  .substr(0, 77),
              "test.yaml:2:3: policy fair (expert.pools[].preemption.mode due) needs a queue");
    EXPECT_EQ(warnings_for("policy:\n  name: sla\n  pools:\n  - name: training-pool\n    queues:\n"
                           "    - {name: a, queues: [{name: b, order: FIFO}]}\n"),
              Warnings{"test.yaml:6:26: queue b of pool training-pool has order FIFO: with "
                       "preemption.mode shortest its jobs preempt no job by run time and get no "
                       "reservation; set order: SHORTEST"});
}

TEST(PreemptionByRunTime, a_key_without_effect_is_a_warning) {
    const auto warned = [](const std::string& policy, const std::string& keys) {
        return warnings_for("policy: {name: " + policy +
                            ", pools: [{name: dev-pool}]}\nexpert: {pools: [{name: dev-pool, " +
                            keys + "}]}\n");
    };
    const auto no_effect = [](int column, const std::string& key, const std::string& why) {
        return Warnings{"test.yaml:2:" + std::to_string(column) + ": expert.pools[]." + key +
                        " of pool dev-pool has no effect " + why};
    };
    EXPECT_EQ(warned("throughput", "preemption: {slowdownPercent: 300}"),
              no_effect(48, "preemption.slowdownPercent", "with preemption.mode shortest"));
    EXPECT_EQ(warned("fair", "preemption: {waitTarget: 5m}"),
              no_effect(48, "preemption.waitTarget", "with preemption.mode due"));
    EXPECT_EQ(warned("balanced", "preemption: {waitTarget: 5m}"),
              no_effect(48, "preemption.waitTarget", "with preemption.mode priority"));
    EXPECT_EQ(warned("balanced", "backfill: {waitMaximum: 1d}"),
              no_effect(46, "backfill.waitMaximum", "without a queue of order SHORTEST"));
    EXPECT_EQ(warned("fair", "backfill: {ageing: 1d}"),
              no_effect(46, "backfill.ageing", "with preemption.mode due"));
    EXPECT_EQ(warned("sla", "backfill: {head: reserve}"),
              no_effect(46, "backfill.head",
                        "with preemption.mode shortest: the head-of-line job gets no reservation"));
    EXPECT_EQ(warned("sla", "backfill: {reserveAfter: 2h}"),
              no_effect(46, "backfill.reserveAfter", "with preemption.mode shortest"));
    EXPECT_EQ(
        warned("sla", "preemption: {waitTarget: 5m}, backfill: {waitMaximum: 1d, ageing: 2d}"),
        Warnings{});
    EXPECT_EQ(warned("fair", "preemption: {slowdownPercent: 300}, backfill: {waitMaximum: 1d}"),
              Warnings{});
    EXPECT_EQ(warned("batch", "backfill: {waitMaximum: 1d, ageing: 2d, reserveAfter: 2h}"),
              Warnings{});
}

TEST(EmbeddedPools, a_pool_without_nodes_is_a_warning_with_the_nearest_name) {
    EXPECT_EQ(warnings_for("policy:\n  pools:\n  - {name: training-pol}\n"),
              Warnings{"test.yaml:3:6: no node of cluster.embedded.nodes is in pool training-pol; "
                       "did you mean training-pool?"});
    EXPECT_EQ(
        warnings_for("policy: {pools: [{name: moon}]}\n"),
        Warnings{"test.yaml:1:19: no node of cluster.embedded.nodes is in pool moon: its jobs "
                 "cannot start"});
    EXPECT_EQ(warnings_for("policy: {pools: [{name: training-pool}, {name: default}]}\n"),
              Warnings{});
    EXPECT_EQ(warnings_for("cluster: {mode: kubernetes}\npolicy: {pools: [{name: moon}]}\n"),
              Warnings{});
}

constexpr const char* kExpert = R"(
policy:
  pools:
    - {name: a, policy: throughput}
    - {name: b, policy: sla}
expert:
  scheduling: {usageHalfLife: 2d, growthPause: 3m}
  pools:
    - {name: b, preemption: {waitTarget: 10m}, backfill: {waitMaximum: 2d}}
)";

TEST(ExpertKeys, change_one_number_of_the_pool_s_policy_only) {
    const Config config = read_policy(kExpert);
    EXPECT_EQ(config.policy.usage_half_life, Duration::seconds(2 * 86'400));
    EXPECT_EQ(config.policy.growth_pause, Duration::seconds(180));
    PreemptionPolicy expected = find_named_policy("sla")->preemption;
    expected.wait_target = Duration::seconds(600);
    EXPECT_EQ(pool_called(config, "b").preemption, expected);
    EXPECT_EQ(pool_called(config, "b").backfill.patience, Duration::seconds(2 * 86'400));
    EXPECT_EQ(pool_called(config, "a").preemption, find_named_policy("throughput")->preemption);
}

TEST(ExpertKeys, are_for_pools_that_are_listed_once) {
    EXPECT_EQ(refused_policy("expert:\n  pools:\n  - {name: x}\n"),
              "test.yaml:3:6: there is no pool x in policy.pools: list it there, a name is enough");
    EXPECT_EQ(refused_policy("policy: {pools: [{name: x}]}\n"
                             "expert:\n  pools:\n  - {name: x}\n  - {name: x}\n"),
              "test.yaml:5:5: the pool x is given twice");
    EXPECT_EQ(refused_policy("expert:\n  pools:\n  - {waitMaximum: 1d}\n"),
              "test.yaml:3:5: expert.pools.0.name is missing (and 1 more)");
    EXPECT_EQ(refused_policy("expert: {scheduling: {backoffInitial: 2m}}\n"),
              "test.yaml:1:10: expert.scheduling.backoffInitial is longer than backoffMaximum");
}

TEST(ExpertKeys, are_reported_when_they_are_needed) {
    for (const KeyDescription& key : describe_keys()) {
        // Sections do not: expert.server, expert.pools[].backfill. Nor does a pool's name.
        const bool is_value = std::count(key.path.begin(), key.path.end(), '.') >=
                              (key.path.starts_with("expert.pools[]") ? 3 : 2);
        if (!key.path.starts_with("expert.") || !is_value) continue;
        EXPECT_NE(key.meaning.find("you need "), std::string::npos) << key.path;
    }
}

TEST(MovedKeys, are_errors_that_name_the_new_place) {
    const std::pair<const char*, const char*> table[] = {
        {"policy:\n  usageHalfLife: 2d\n",
         "test.yaml:2:3: policy.usageHalfLife has moved to expert.scheduling.usageHalfLife"},
        {"policy: {pods-reserved-per-node: 3}\n",
         "test.yaml:1:10: policy.pods-reserved-per-node has moved to "
         "expert.scheduling.podsReservedPerNode"},
        {"policy:\n  planAttemptsMax:\n",
         "test.yaml:2:3: policy.planAttemptsMax has moved to expert.scheduling.planAttemptsMax"},
        {"policy: {pools: [{name: p, backfill: {head: reserve}}]}\n",
         "test.yaml:1:28: policy.pools.0.backfill has moved to expert.pools[].backfill"},
        {"policy: {pools: [{name: p, preemption: {mode: due}}]}\n",
         "test.yaml:1:41: policy.pools.0.preemption.mode has moved to "
         "expert.pools[].preemption.mode"},
        {"policy: {pools: [{name: p, preemption: {makespanPercent: 98}}]}\n",
         "test.yaml:1:41: policy.pools.0.preemption.makespanPercent is no longer a key: throughput "
         "and fair contain it; try numbers with gpuctl-trace-replay --makespan-percent"},
        {"logs: {pingInterval: 1s}\n", "test.yaml:1:1: logs has moved to expert.logs"},
        {"server: {requestTimeout: 1s}\n",
         "test.yaml:1:10: server.requestTimeout has moved to expert.server.requestTimeout"},
        {"cluster: {mode: kubernetes, kubernetes: {bindsInFlightMax: 1}}\n",
         "test.yaml:1:42: cluster.kubernetes.bindsInFlightMax has moved to "
         "expert.kubernetes.bindsInFlightMax"},
        {"journal: {queueMax: 100}\n",
         "test.yaml:1:11: journal.queueMax has moved to expert.journal.queueMax"},
    };
    for (const auto& [yaml, expected] : table) EXPECT_EQ(refused_policy(yaml), expected) << yaml;
    EXPECT_EQ(refused_policy("", {{"GPUCTLD_POLICY_GROWTH_PAUSE", "1s"}}),
              "environment variable GPUCTLD_POLICY_GROWTH_PAUSE: policy.growthPause has moved to "
              "expert.scheduling.growthPause");
    EXPECT_EQ(refused_policy("", {{"GPUCTLD_LOGS_PING_INTERVAL", "1s"}}),
              "environment variable GPUCTLD_LOGS_PING_INTERVAL: logs has moved to expert.logs");
}

TEST(MovedKeys, are_neither_described_nor_printed) {
    for (const KeyDescription& key : describe_keys()) EXPECT_FALSE(key.has_moved) << key.path;
    EXPECT_EQ(print_config(Config{}).find("has moved"), std::string::npos);
    std::size_t moved = 0;
    for (const KeyDescription& key : describe_moved_and_present_keys()) moved += key.has_moved;
    EXPECT_GE(moved, 25u);
}

TEST(PrintedSources, every_value_says_where_it_comes_from) {
    Config config = read_policy(std::string{"server: {port: 9000}\n"} + kExpert,
                                {{"GPUCTLD_LOGGING_LEVEL", "debug"}});
    config.places["server.address"] = "flag --listen";
    const std::string printed = print_config_with_sources(config);
    const auto expect = [&](const char* after, const char* key, const std::string& line) {
        EXPECT_EQ(printed_line(printed, after, key), line) << after << " " << key;
    };
    expect("server:", "address", "address: \"127.0.0.1\"  # flag --listen");
    expect("server:", "port", "port: 9000  # test.yaml:1:10");
    expect("server:", "metricsRequireToken", "metricsRequireToken: false  # default");
    expect("logging:", "level", "level: debug  # environment variable GPUCTLD_LOGGING_LEVEL");
    expect("policy:", "name", "name: balanced  # default");
    expect("- name: a", "policy", "policy: throughput  # test.yaml:5:17");
    expect("- name: a", "order", "order: SHORTEST  # policy throughput");
    expect("- name: a", "victims", "victims: lowerPriority  # default");
    expect("policy:", "evictionsPerJobPerHour", "evictionsPerJobPerHour: 2  # policy balanced");
    expect("expert:", "usageHalfLife", "usageHalfLife: 2d  # test.yaml:8:16");
    expect("expert:", "backoffInitial", "backoffInitial: 1s  # default");
    const std::string expert = printed.substr(printed.find("\nexpert:"));
    // Of the two pools only the second is written, as the first of the list.
    const std::string second = expert.substr(expert.find("- name: b"));
    EXPECT_EQ(printed_line(expert, "- name: a", "ageing"), "ageing: 365d  # policy throughput");
    EXPECT_EQ(printed_line(second, "", "waitMaximum"), "waitMaximum: 2d  # test.yaml:10:59");
    EXPECT_EQ(printed_line(second, "", "ageing"), "ageing: 1d  # policy sla");
    EXPECT_EQ(printed_line(second, "", "waitTarget"), "waitTarget: 10m  # test.yaml:10:30");
    EXPECT_EQ(printed_line(second, "", "guarantees"), "guarantees: whenDemandFits  # policy sla");
    EXPECT_EQ(printed_line(expert, "\n  pools:", "name"), "name: a  # policy.pools");
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(PrintedSources, a_value_without_effect_is_a_comment_that_says_why) {
    const std::string printed = print_config_with_sources(read_policy(kExpert));
    EXPECT_TRUE(holds(printed,
                      "\n        #head: reserve  # policy throughput; no effect with "
                      "preemption.mode shortest: the head-of-line job gets no "
                      "reservation\n"))
        << printed;
    EXPECT_TRUE(holds(printed,
                      "\n        #reserveAfter: 1h  # policy sla; no effect with "
                      "preemption.mode shortest\n"));
    EXPECT_FALSE(holds(printed, "#waitTarget"));
    EXPECT_TRUE(holds(printed, "\n        #slowdownPercent: 200  # policy sla; no effect"));
}

TEST(PrintedSources, the_policy_in_force_is_shown_where_no_pool_is_listed) {
    const std::string printed = print_config_with_sources(Config{});
    for (const char* line :
         {"\n  #    order: FAIR_SHARE  # policy balanced\n",
          "\n  #  - name: training-pool  # an example; the values below hold for every pool\n",
          "\n  #      head: reserve  # policy balanced\n",
          "\n  #      reserveAfter: 1h  # policy balanced\n",
          "\n  #      mode: priority  # policy balanced\n",
          "\n  #      #waitTarget: 0s  # policy balanced; no effect with preemption.mode "
          "priority\n"}) {
        EXPECT_TRUE(holds(printed, line)) << line << printed;
    }
}

TEST(PrintedSources, a_value_that_follows_from_other_keys_names_them) {
    const std::string printed = print_config_with_sources(read_policy(R"(
policy:
  pools:
    - name: dev-pool
      queues:
        - name: outer
          queues: [{name: inner, guaranteed: 1}]
        - {name: other}
  maintenance:
    - {name: w, nodes: [dev-0], start: 2026-12-01T08:00:00Z, end: 2026-12-01T12:00:00Z}
)"));
    EXPECT_EQ(printed_line(printed, "- name: outer", "guaranteed"),
              "guaranteed: 1  # guarantees of its sub-queues or models");
    EXPECT_EQ(printed_line(printed, "- name: inner", "guaranteed"),
              "guaranteed: 1  # test.yaml:7:34");
    EXPECT_EQ(printed_line(printed, "- name: other", "guaranteed"), "guaranteed: 0  # default");
    EXPECT_EQ(printed_line(printed, "- name: w", "duration"),
              "duration: 4h  # test.yaml:10:62 (end)");
}

TEST(PrintedSources, are_comments_that_change_nothing) {
    const Config config = read_policy(kExpert);
    EXPECT_EQ(read_policy(print_config_with_sources(config)).policy, config.policy);
    EXPECT_EQ(read_policy(print_config(config)).policy, config.policy);
}

TEST(PolicyReload, a_policy_by_name_and_expert_scheduling_numbers_may_change) {
    const Config running = read_policy("policy: {pools: [{name: a}]}\n");
    EXPECT_TRUE(check_reloadable(running, read_policy(kExpert)));
}

}  // namespace
}  // namespace gpuctl::config
