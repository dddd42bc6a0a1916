// Pods of one controller that each name their node: a job in each pool that has such nodes.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

void name_node(PodFacts& pod, const std::string& node) {
    SelectorTerm term;
    term.fields.push_back({"metadata.name", SelectorOperator::in, {node}});
    pod.rules.required_affinity = {term};
    pod.pin = {"", node};
}

// As the DaemonSet controller creates it for this node.
PodFacts agent(const std::string& node) {
    PodFacts out = pod("agent-" + node, "DaemonSet.6d8f:agent", 0);
    name_node(out, node);
    return out;
}

bool is_restored(const EngineWorld& world) {
    const auto again = Engine::import_state(world.engine.export_state());
    if (!again) return false;
    for (const Violation& wrong : verify(again->state())) ADD_FAILURE() << wrong.what;
    return again->state_hash() == world.engine.state_hash();
}

TEST(Pinned, a_daemon_set_starts_on_the_nodes_of_every_pool) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8, "training"));
    world.add(node("c", 8, "training"));
    for (const char* name : {"a", "b", "c"}) world.add(agent(name));
    world.run();
    for (const char* name : {"a", "b", "c"}) {
        EXPECT_EQ(world.node_of(std::string{"agent-"} + name), name);
    }
    const ClusterState& state = world.engine.state();
    EXPECT_TRUE(state.jobs.find_job({"team-a", "DaemonSet.6d8f:agent"}).exists());
    const JobId training = state.jobs.find_job({"team-a", "DaemonSet.6d8f@training:agent"});
    ASSERT_TRUE(training.exists());
    EXPECT_EQ(state.job(training).pods.size(), 2U);
    EXPECT_EQ(shown_name(state.job(training).key), "agent");
    EXPECT_TRUE(is_restored(world));
}

TEST(Pinned, jobs_of_one_controller_in_two_pools_are_distinguished_by_their_full_names) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8, "training"));
    world.add(agent("a"));
    world.add(agent("b"));
    const Result<JobView> either = find_job(world.engine.state(), "team-a", "agent");
    ASSERT_FALSE(either.has_value());
    EXPECT_EQ(either.error().code, ErrorCode::JobAmbiguous);
    ASSERT_EQ(either.error().details.size(), 2U);
    EXPECT_EQ(either.error().details[0].message, "team-a/DaemonSet.6d8f:agent");
    EXPECT_EQ(either.error().details[1].message, "team-a/DaemonSet.6d8f@training:agent");
    EXPECT_TRUE(
        find_job(world.engine.state(), "team-a", "DaemonSet.6d8f@training:agent").has_value());
}

TEST(Pinned, a_running_pod_is_charged_in_the_present_pool_of_its_node) {
    EngineWorld world;
    world.add(node("b", 8, "training"));
    PodFacts one = agent("b");
    one.request = room(2, 1, 1, 1);
    world.add(one);
    world.run();
    ASSERT_EQ(world.node_of("agent-b"), "b");
    const auto held_in = [&](const char* pool) {
        const ClusterState& state = world.engine.state();
        const PoolId id = state.tree.find_pool(pool);
        return id.exists() ? state.pool(id).held.value() : -1;
    };
    EXPECT_EQ(held_in("training"), 2000);
    world.add(node("b", 8, "dev"));
    world.run();
    EXPECT_EQ(held_in("dev"), 2000);
    EXPECT_EQ(world.node_of("agent-b"), "b");
    EXPECT_TRUE(is_restored(world));
    world.remove_node("b");
    world.run();
    EXPECT_TRUE(is_restored(world));
}

TEST(Pinned, a_node_may_be_named_by_a_label_that_only_it_carries) {
    EngineWorld world;
    NodeFacts far = node("ip-10-0-0-7", 8, "training");
    far.labels["hostname"] = "seven";
    world.add(node("a", 8));
    PodFacts one = pod("one", "pod:one", 1);
    one.rules.node_selector = {{"hostname", "seven"}};
    one.pin = {"hostname", "seven"};
    world.add(one);
    world.run();
    EXPECT_EQ(world.node_of("one"), "");
    EXPECT_EQ(wording::sentence(world.why("pod:one").front()),
              "no node of pool default is usable: 1 does not match hostname=seven; it names node "
              "hostname=seven, which does not exist");
    world.add(far);
    world.run();
    EXPECT_EQ(world.node_of("one"), "ip-10-0-0-7");
}

// Names these nodes by their label.
PodFacts one_of(const std::vector<std::string>& nodes) {
    PodFacts out = pod("one", "pod:one", 1);
    SelectorTerm term;
    term.labels.push_back({"hostname", SelectorOperator::in, nodes});
    out.rules.required_affinity = {term};
    out.pin = {"hostname", nodes.front()};
    return out;
}

NodeFacts host(const std::string& name, const std::string& pool) {
    NodeFacts out = node(name, 8, pool);
    out.labels["hostname"] = name;
    return out;
}

TEST(Pinned, of_several_named_nodes_the_first_that_exists_gives_the_pool) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(one_of({"gone", "b", "c"}));
    world.run();
    EXPECT_EQ(wording::sentence(world.why("pod:one").front()),
              "no node of pool default is usable: 1 does not match its affinity; it names nodes "
              "hostname=gone or 2 more, none of which exists");
    world.add(host("b", "training"));
    world.run();
    EXPECT_EQ(world.node_of("one"), "b");
    EXPECT_TRUE(is_restored(world));
}

TEST(Pinned, a_running_pod_stays_in_its_pool_when_an_earlier_named_node_is_added) {
    EngineWorld world;
    world.add(host("b", "training"));
    world.add(one_of({"gone", "b"}));
    world.run();
    ASSERT_EQ(world.node_of("one"), "b");
    world.add(host("gone", "dev"));
    world.run();
    const ClusterState& state = world.engine.state();
    const PodId one = state.pods.find_pod(ObjectKey{"team-a", "one"});
    ASSERT_TRUE(one.exists());
    EXPECT_EQ(state.job(state.pod(one).job).pool_wanted, "training");
    EXPECT_TRUE(is_restored(world));
}

TEST(Pinned, a_pod_waits_for_a_full_node_until_that_node_is_removed) {
    EngineWorld world;
    world.add(host("b", "training"));
    PodFacts all = pod("all", "pod:all", 8);
    all.pool = "training";
    world.add(all);
    world.run();
    ASSERT_EQ(world.node_of("all"), "b");
    world.add(host("c", "dev"));
    world.add(one_of({"b", "c"}));
    world.run();
    EXPECT_EQ(world.node_of("one"), "");
    world.remove_node("b");
    world.run();
    EXPECT_EQ(world.node_of("one"), "c");
    EXPECT_TRUE(is_restored(world));
}

TEST(Pinned, ranks_that_name_nodes_of_two_pools_are_held_and_the_reason_says_so) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(node("b", 8, "training"));
    std::vector<PodFacts> ranks = gang("gang:g", 2, 1);
    name_node(ranks[0], "a");
    name_node(ranks[1], "b");
    world.add(ranks);
    world.run();
    EXPECT_EQ(wording::sentence(world.why("gang:g").front()),
              "it uses ranks of one gang in different pools or queues (default/default, "
              "training/default), which is not supported");
    world.add(node("a", 8, "training"));
    world.run();
    EXPECT_EQ(world.node_of("gang:g-0") + world.node_of("gang:g-1"), "ab");
}

// Two groups of two pods, each a gang made by one controller.
std::vector<PodFacts> groups() {
    std::vector<PodFacts> out;
    for (const char* group : {"llm-0", "llm-1"}) {
        for (PodFacts& rank : gang("gang.LeaderWorkerSet.serve:" + std::string{group}, 2, 4)) {
            rank.gang_named = "serve";
            rank.gang_min = 2;
            out.push_back(rank);
        }
    }
    return out;
}

TEST(Pinned, each_group_of_a_controller_is_a_gang_until_an_object_defines_the_gang) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(groups());
    world.plan();
    EXPECT_EQ(world.pending.size(), 2U) << "one of two groups of 8 GPUs, whole";
    world.answer_all();
    world.run();
    EXPECT_EQ(world.sent<ReportStarted>().size(), 1U);
    world.send(GangObserved{{"team-a", "gang:serve"}, {4, {}}, {}});
    world.run();
    const JobId all = world.engine.state().jobs.find_job({"team-a", "gang:serve"});
    ASSERT_TRUE(all.exists());
    EXPECT_EQ(world.engine.state().job(all).pods.size(), 4U);
    EXPECT_TRUE(is_restored(world));
    world.send(GangRemoved{{"team-a", "gang:serve"}});
    world.run();
    EXPECT_FALSE(world.engine.state().jobs.find_job({"team-a", "gang:serve"}).exists());
    EXPECT_TRUE(is_restored(world));
}

}  // namespace
}  // namespace gpuctl::test
