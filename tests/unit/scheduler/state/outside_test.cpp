// Objects other than pods and nodes: device classes, the queue and the controller of a gang.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

PodFacts asking(const std::string& resource) {
    PodFacts out = pod("one", "pod:one", 0);
    out.request.extended = {{resource, 1}};
    return out;
}

NodeFacts offering(const std::string& name, const std::string& resource,
                   const std::string& pool = "default") {
    NodeFacts out = node(name, 0, pool);
    out.allocatable.extended = {{resource, 4}};
    return out;
}

const Explanation& why(const EngineWorld& world, std::vector<Explanation>& all) {
    all = world.why("pod:one");
    EXPECT_FALSE(all.empty());
    return all.front();
}

// Otherwise an autoscaler would add nodes for ever.
TEST(DeviceClass, a_resource_that_only_a_device_class_serves_is_named_and_no_node_is_requested) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(asking("lab.example/gpu"));
    world.run();
    std::vector<Explanation> all;
    EXPECT_EQ(why(world, all).reason, Reason::never_fits) << "the device class is not known yet";
    world.send(DeviceClassObserved{"gpu.lab.example", "lab.example/gpu"});
    world.run();
    EXPECT_EQ(why(world, all).reason, Reason::unsupported_feature);
    EXPECT_FALSE(row_of(all.front().reason).autoscaler_can_help);
    EXPECT_EQ(wording::sentence(all.front()),
              "it uses lab.example/gpu of device class gpu.lab.example (dynamic resource "
              "allocation), which is not supported");
    world.send(DeviceClassRemoved{"gpu.lab.example"});
    world.run();
    EXPECT_EQ(why(world, all).reason, Reason::never_fits);
}

TEST(DeviceClass, a_resource_that_nodes_offer_is_placed_on_them) {
    EngineWorld world;
    world.add(node("a", 8));
    world.send(DeviceClassObserved{"gpu.nvidia.com", kGpu});
    PodFacts one = pod("one", "pod:one", 8);
    world.add(one);
    world.run();
    EXPECT_EQ(world.node_of("one"), "a");
    // There are too few GPUs, and more nodes would help.
    world.add(pod("two", "pod:two", 1));
    world.run();
    EXPECT_EQ(world.why("pod:two").front().reason, Reason::gpu_insufficient);
}

TEST(DeviceClass, a_pod_is_tried_again_when_a_node_that_offers_the_resource_is_added) {
    EngineWorld world;
    world.add(node("a", 8));
    world.send(DeviceClassObserved{"c", "lab.example/gpu"});
    world.add(asking("lab.example/gpu"));
    world.run();
    std::vector<Explanation> all;
    EXPECT_EQ(why(world, all).reason, Reason::unsupported_feature);
    world.add(offering("b", "lab.example/gpu"));
    world.run();
    EXPECT_EQ(world.node_of("one"), "b");
    // The entry of a removed pod is not used for the next one.
    world.remove_pod("one");
    world.remove_node("b");
    world.add(asking("lab.example/gpu"));
    world.run();
    EXPECT_EQ(why(world, all).reason, Reason::unsupported_feature);
}

TEST(DeviceClass, nodes_of_another_pool_count_for_that_pool_only) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(offering("b", "lab.example/gpu", "plain"));
    world.send(DeviceClassObserved{"c", "lab.example/gpu"});
    world.add(asking("lab.example/gpu"));
    world.run();
    std::vector<Explanation> all;
    EXPECT_EQ(why(world, all).reason, Reason::unsupported_feature);
}

TEST(DeviceClass, the_reason_of_an_empty_pool_says_that_it_is_empty) {
    EngineWorld world;
    world.send(DeviceClassObserved{"c", "lab.example/gpu"});
    world.add(asking("lab.example/gpu"));
    world.run();
    std::vector<Explanation> all;
    EXPECT_EQ(why(world, all).reason, Reason::pool_empty);
}

TEST(DeviceClass, survives_a_restart) {
    EngineWorld world;
    world.add(node("a", 8));
    world.send(DeviceClassObserved{"c", "lab.example/gpu"});
    world.add(asking("lab.example/gpu"));
    world.run();
    const auto again = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->state_hash(), world.engine.state_hash());
    EXPECT_EQ(explain_job(again->state(), {"team-a", "pod:one"}).front().reason,
              Reason::unsupported_feature);
}

Policy with_queue(const std::string& name) {
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, {}}, {name, 0, 1, {}, {}}};
    policy.pools = {pool};
    return policy;
}

std::string queue_of(const EngineWorld& world, const std::string& job) {
    return find_job(world.engine.state(), "team-a", job)->queue;
}

TEST(GangQueue, of_its_pod_group_is_used_if_the_queue_exists) {
    EngineWorld world;
    world.set(with_queue("research"));
    world.add(node("a", 8));
    world.send(GangObserved{{"team-a", "gang:g"}, {2, {}}, {"research", "", false}});
    world.add(gang("gang:g", 2, 1));
    world.run();
    EXPECT_EQ(queue_of(world, "g"), "research");
    EXPECT_EQ(world.engine.state()
                  .queue(world.engine.state()
                             .job(world.engine.state().jobs.find_job({"team-a", "gang:g"}))
                             .queue)
                  .name,
              "research");
    world.send(GangObserved{{"team-a", "gang:g"}, {2, {}}, {}});
    EXPECT_EQ(queue_of(world, "g"), "default");
}

TEST(GangQueue, of_a_label_on_the_pods_wins_over_the_pod_group) {
    EngineWorld world;
    world.set(with_queue("research"));
    world.add(node("a", 8));
    world.send(GangObserved{{"team-a", "gang:g"}, {2, {}}, {"research", "", false}});
    std::vector<PodFacts> ranks = gang("gang:g", 2, 1);
    for (PodFacts& rank : ranks) rank.queue = "default";
    world.add(ranks);
    world.run();
    EXPECT_EQ(queue_of(world, "g"), "default");
}

TEST(GangQueue, an_unknown_one_is_ignored_and_the_reason_says_so) {
    EngineWorld world;
    world.add(node("a", 1));
    world.send(GangObserved{{"team-a", "gang:g"}, {2, {}}, {"research", "", false}});
    world.add(gang("gang:g", 2, 8));
    world.run();
    EXPECT_EQ(queue_of(world, "g"), "default");
    const std::string text =
        "; queue research is ignored (its PodGroup or its pods name it for another scheduler): "
        "pool default has no such queue";
    EXPECT_NE(wording::sentence(world.why("gang:g").front()).find(text), std::string::npos)
        << wording::sentence(world.why("gang:g").front());
    ASSERT_FALSE(world.sent<ReportPending>().empty());
    EXPECT_NE(wording::sentence(world.sent<ReportPending>().back().explanation).find(text),
              std::string::npos);
}

TEST(GangQueue, that_pods_name_for_another_scheduler_is_used_as_well) {
    EngineWorld world;
    world.set(with_queue("research"));
    world.add(node("a", 8));
    PodFacts one = pod("one", "pod:one", 1);
    one.queue_suggested = "research";
    world.add(one);
    world.run();
    EXPECT_EQ(queue_of(world, "one"), "research");
    const auto again = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->state_hash(), world.engine.state_hash());
}

TEST(GangInTurn, the_reason_names_the_controller_that_creates_pods_one_after_another) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts first = gang("gang:g", 3, 1).front();
    first.made_in_turn =
        "StatefulSet g, which makes one after another unless its podManagementPolicy is Parallel";
    world.add(first);
    world.run();
    EXPECT_EQ(wording::sentence(world.why("gang:g").front()),
              "its gang has 1 of 3 ranks; its pods come from StatefulSet g, which makes one after "
              "another unless its podManagementPolicy is Parallel; no pod of the gang starts "
              "before all of them exist");
}

TEST(GangInTurn, two_waiting_pods_prove_that_they_are_not_created_in_turn) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("gang:g", 3, 1);
    ranks.pop_back();
    for (PodFacts& pod : ranks) {
        pod.made_in_turn = "StatefulSet g, which makes one after another unless it does not";
        world.add(pod);
    }
    world.run();
    EXPECT_EQ(wording::sentence(world.why("gang:g").front()), "its gang has 2 of 3 ranks");
}

TEST(GangInTurn, an_object_that_states_the_order_of_creation_wins_over_the_pods) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(gang("gang.JobSet.g:set", 3, 1).front());
    world.send(GangObserved{{"team-a", "gang.JobSet.g:set"},
                            {3, {}},
                            {"", "JobSet set, whose startupPolicy is InOrder", true}});
    world.run();
    EXPECT_NE(wording::sentence(world.why("gang.JobSet.g:set").front())
                  .find("come from JobSet set, whose startupPolicy is InOrder"),
              std::string::npos);
}

TEST(GangSizeDerived, is_used_if_the_pods_state_none) {
    EngineWorld world;
    world.add(node("a", 8));
    std::vector<PodFacts> ranks = gang("gang.JobSet.g:set", 2, 1);
    for (PodFacts& rank : ranks) rank.gang_min = 0;
    world.add(ranks);
    world.send(GangObserved{{"team-a", "gang.JobSet.g:set"}, {4, {}}, {"", "", true}});
    world.run();
    EXPECT_EQ(world.why("gang.JobSet.g:set").front().reason, Reason::gang_incomplete);
    for (PodFacts& rank : ranks) rank.gang_min = 2;
    world.add(ranks);
    world.run();
    EXPECT_EQ(world.node_of(ranks[0].uid), "a");
}

}  // namespace
}  // namespace gpuctl::test
