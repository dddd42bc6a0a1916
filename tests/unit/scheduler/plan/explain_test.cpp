// Explanations beyond the sentences of tests/scenario.

#include <gtest/gtest.h>

#include <map>

#include "scheduler/model/reason.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

TEST(Explain, a_node_is_counted_for_every_resource_that_it_lacks) {
    EngineWorld world;
    NodeFacts small = node("a", 8);
    small.allocatable.cpu = CpuMilli{2'000};
    small.allocatable.memory = Bytes{std::int64_t{2} << 30};
    world.add(small);
    world.add(node("b", 8));
    PodFacts first = pod("first", "first", 8);
    first.request.cpu = CpuMilli{2'000};
    first.node = "a";
    world.add(first);
    PodFacts second = pod("second", "second", 8);
    second.node = "b";
    world.add(second);
    world.add(pod("p", "p", 4));
    world.plan();
    const std::string message = wording::kubernetes_message(world.why("p").front());
    EXPECT_TRUE(
        message.starts_with("0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient "
                            "nvidia.com/gpu. "))
        << message;
}

TEST(Explain, a_feature_that_one_pod_uses_is_reported_with_the_name_of_this_pod) {
    EngineWorld world;
    world.add(node("a", 4));
    std::vector<PodFacts> replicas{pod("w-0", "StatefulSet:w", 1), pod("w-1", "StatefulSet:w", 1)};
    for (PodFacts& one : replicas) one.unsupported = {"claim data-" + one.key.name};
    world.add(replicas);
    world.run();
    const std::string sentence = wording::sentence(world.why("StatefulSet:w").front());
    EXPECT_TRUE(sentence == "its pod w-0 uses claim data-w-0, which is not supported" ||
                sentence == "its pod w-1 uses claim data-w-1, which is not supported")
        << sentence;
    for (PodFacts& one : replicas) one.unsupported = {"hostPID"};
    world.add(replicas);
    world.run();
    EXPECT_EQ(wording::sentence(world.why("StatefulSet:w").front()),
              "it uses hostPID, which is not supported");
}

TEST(Explain, ranks_of_different_size_are_reported_with_their_sum) {
    EngineWorld world;
    world.add(node("a", 4));
    world.add(pod("runs", "runs", 3));
    world.run();
    std::vector<PodFacts> ranks = gang("g", 3, 1);
    ranks[0].request = room(4, 1, 1, 1);
    world.add(ranks);
    world.plan();
    EXPECT_NE(wording::sentence(world.why("g").front())
                  .find("in total 6 GPUs requested for 3 ranks of different size (4, 1, 1)"),
              std::string::npos)
        << wording::sentence(world.why("g").front());
    world.remove_pod("runs");
    world.plan();
    EXPECT_EQ(wording::sentence(world.why("g").front()),
              "6 GPUs requested for 3 ranks of different size (4, 1, 1); pool default: 4 of 4 GPUs "
              "free, room for each size alone but not for all ranks");
}

MaintenanceWindow window_on(const std::string& name, const std::string& node, Instant begin,
                            std::int64_t length_s) {
    MaintenanceWindow window;
    window.name = name;
    window.nodes = {node};
    window.begin = begin;
    window.length = Duration::seconds(length_s);
    window.drain = Drain::none;
    return window;
}

TEST(Explain, the_times_of_a_window_are_reported_with_its_own_number_of_nodes) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8));
    Policy policy = world.policy;
    policy.windows = {window_on("far", "a", world.now + Duration::seconds(7200), 600),
                      window_on("short", "b", world.now, 25)};
    world.set(policy);
    world.add(pod("p", "p", 1));
    world.plan();
    const Explanation explanation = world.why("p").front();
    std::map<std::string, std::int64_t> figures;
    for (const Figure& one : explanation.figures) figures[one.name] = one.value;
    EXPECT_EQ(explanation.subject, "short");
    EXPECT_EQ(figures["nodes_closed"], 2);
    EXPECT_EQ(figures["windows"], 2);
    EXPECT_EQ(figures["nodes_closed_by_first"], 1);
    EXPECT_EQ(figures["closed_in_ms"], 0);
    EXPECT_EQ(figures["closed_for_ms"], 25'000);
}

// Regression: pods on the node that a window closes were reported as held by lower-priority pods
// that are not evicted because of another job's reservation.
TEST(Explain, pods_on_nodes_that_a_window_closes_to_the_job_are_not_in_its_way) {
    EngineWorld world;
    world.add(node("a", 8));
    Policy policy = world.policy;
    policy.windows = {window_on("w", "a", world.now + Duration::seconds(2'000), 600)};
    world.set(policy);
    const auto submit = [&world](const char* name, std::int32_t priority, std::int64_t limit_s) {
        PodFacts facts = pod(name, name, 4);
        facts.priority = priority;
        facts.preemptible = true;
        facts.run_time_max = Duration::seconds(limit_s);
        world.add(facts);
        world.run();
    };
    submit("low", 1, 60);
    ASSERT_EQ(world.node_of("low"), "a");
    submit("m1", 5, 3'600);
    submit("m2", 5, 3'600);
    const Explanation head = world.why("m1").front();
    EXPECT_NE(wording::sentence(head).find("it is the head-of-line job"), std::string::npos)
        << wording::sentence(head);
    const Explanation behind = world.why("m2").front();
    EXPECT_EQ(behind.reason, Reason::maintenance);
    EXPECT_EQ(wording::sentence(behind).find("lower-priority"), std::string::npos)
        << wording::sentence(behind);
    EXPECT_TRUE(wording::kubernetes_message(behind).starts_with(
        "0/1 nodes are available: 1 node(s) will be closed for maintenance while the job may "
        "still run. "))
        << wording::kubernetes_message(behind);
}

TEST(Explain, the_reason_names_other_gpu_models_only_if_there_are_any) {
    EngineWorld world;
    world.add(node("a", 8));
    Policy policy = world.policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, {}}};
    pool.queues.front().models = {{"A100", GpuMilli{}, whole_gpus(2)}};
    policy.pools = {pool};
    world.set(policy);
    world.add(gang("wide", 6, 1));
    world.plan();
    const auto sentence = [&world] { return wording::sentence(world.why("wide").front()); };
    EXPECT_TRUE(sentence().ends_with("6 requested, more than the limit")) << sentence();
    NodeFacts other = node("b", 4);
    other.gpu_model = "V100";
    world.add(other);
    world.plan();
    EXPECT_NE(sentence().find("; it can use other GPU models only"), std::string::npos);
}

TEST(Explain, a_job_of_an_unknown_queue_also_gets_the_reasons_of_a_job_in_any_queue) {
    EngineWorld world;
    world.add(node("a", 2));
    Policy policy = world.policy;
    policy.pools = {{"default", "", {{"q", 0, 1, {}, {}}}}};
    TenantPolicy team;
    team.name = "team-a";
    team.gpu_maximum = whole_gpus(1);
    policy.tenants = {team};
    world.set(policy);
    PodFacts holds = pod("holds", "holds", 1);
    holds.queue = "q";
    world.add(holds);
    world.run();
    PodFacts lost = pod("lost", "lost", 2);
    lost.queue = "gone";
    world.add(lost);
    world.run();
    std::vector<Reason> reasons;
    for (const Explanation& one : world.why("lost")) reasons.push_back(one.reason);
    EXPECT_EQ(reasons,
              (std::vector{Reason::queue_unknown, Reason::tenant_quota, Reason::gpu_insufficient}));
}

// Regression: two jobs of one namespace in two pools both showed the same quota as reserved for
// them.
TEST(Explain, a_quota_is_reserved_for_one_job_only) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8, "other"));
    Policy policy = world.policy;
    TenantPolicy team;
    team.name = "team-a";
    team.gpu_maximum = whole_gpus(8);
    policy.tenants = {team};
    world.set(policy);
    const auto submit = [&world](const char* name, std::int64_t gpus, std::int32_t priority,
                                 const char* pool, std::int64_t run_s) {
        PodFacts facts = pod(name, name, gpus);
        facts.priority = priority;
        facts.preempts = priority > 0;
        facts.pool = pool;
        facts.run_time_max = Duration::seconds(run_s);
        world.add(facts);
        world.run();
    };
    PodFacts others = pod("others", "others", 1);
    others.key.namespace_name = "team-b";
    others.pool = "other";
    others.preemptible = true;
    others.run_time_max = Duration::seconds(600);
    world.add(others);
    submit("runs", 5, 0, "default", 600);
    submit("high", 6, 20, "default", 6000);
    submit("mid", 7, 10, "other", 6000);
    submit("low", 2, 0, "default", 6000);
    // Head of the line in its pool, because low was refused for it, and itself behind high.
    const auto sentence = [&world](const char* name) {
        return wording::sentence(world.why(name).front());
    };
    EXPECT_NE(sentence("low").find("is reserved for the head-of-line job team-a/mid"),
              std::string::npos)
        << sentence("low");
    EXPECT_NE(sentence("high").find("is reserved for it"), std::string::npos) << sentence("high");
    EXPECT_NE(sentence("mid").find("is reserved for the head-of-line job team-a/high"),
              std::string::npos)
        << sentence("mid");
    EXPECT_EQ(sentence("mid").find("is reserved for it"), std::string::npos) << sentence("mid");
}

}  // namespace
}  // namespace gpuctl::test
