// Views of nodes and pools.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl {
namespace {

using test::EngineWorld;

PodFacts foreign(const std::string& name, const std::string& on, std::int64_t gpus) {
    PodFacts out = test::pod(name, "", gpus);
    out.ours = false;
    out.node = on;
    return out;
}

TEST(ClusterViews, show_the_excess_that_other_schedulers_place_on_a_node) {
    EngineWorld world;
    world.send(NodeObserved{test::node("a", 8)});
    world.send(NodeObserved{test::node("b", 8)});
    world.add(foreign("fits", "a", 6));
    world.add(foreign("too-much", "a", 4));
    world.add(foreign("elsewhere", "b", 3));

    const NodeView a = *find_node(world.engine.state(), "a");
    EXPECT_EQ(a.excess.gpus, (std::vector<GpuAmount>{{test::kGpu, whole_gpus(2)}}));
    EXPECT_EQ(a.excess.cpu, CpuMilli{});
    EXPECT_EQ(find_node(world.engine.state(), "b")->excess, Resources{});

    const PoolView pool = list_pools(world.engine.state()).front();
    EXPECT_EQ(pool.gpus_excess, whole_gpus(2));
    EXPECT_EQ(pool.nodes_excess, 1);
    EXPECT_EQ(pool.gpus_used, whole_gpus(11))
        << "requests beyond the capacity of a node are no GPUs";
    EXPECT_EQ(pool.gpus_free, whole_gpus(5));
}

TEST(ClusterViews, count_a_node_that_returned_smaller_than_its_pods_as_excess) {
    EngineWorld world;
    world.send(NodeObserved{test::node("a", 8)});
    world.add(foreign("runs", "a", 8));
    EXPECT_EQ(list_pools(world.engine.state()).front().nodes_excess, 0);
    world.send(NodeObserved{test::node("a", 4)});
    EXPECT_EQ(gpus_total(find_node(world.engine.state(), "a")->excess), whole_gpus(4));
    EXPECT_EQ(list_pools(world.engine.state()).front().nodes_excess, 1);
}

// The states of a GPU: available, allocated, reserved, maintenance, failed.
TEST(ClusterViews, every_gpu_is_in_one_state) {
    EngineWorld world;
    world.add(test::node("a", 8));
    world.add(foreign("runs", "a", 3));
    const auto states = [&world](const char* node) {
        const GpuStates gpus = find_node(world.engine.state(), node)->gpus;
        return std::vector<std::int64_t>{
            whole_gpus_floor(gpus.available), whole_gpus_floor(gpus.allocated),
            whole_gpus_floor(gpus.reserved), whole_gpus_floor(gpus.maintenance),
            whole_gpus_floor(gpus.failed)};
    };
    using Numbers = std::vector<std::int64_t>;
    EXPECT_EQ(states("a"), (Numbers{5, 3, 0, 0, 0}));
    NodeFacts facts = test::node("a", 8);
    facts.unschedulable = true;
    facts.gpus_unhealthy = 1;
    world.add(facts);
    EXPECT_EQ(states("a"), (Numbers{0, 3, 0, 5, 1}));
    facts.unhealthy = "GpuUnhealthy";
    world.add(facts);
    EXPECT_EQ(states("a"), (Numbers{0, 3, 0, 0, 6}));
    world.add(test::node("a", 2));  // it returned smaller than the work that runs there
    EXPECT_EQ(states("a"), (Numbers{0, 2, 0, 0, 0}));
    world.add(test::node("b", 4));
    const GpuStates all = list_pools(world.engine.state()).front().gpus;
    EXPECT_EQ(all.available, whole_gpus(4));
    EXPECT_EQ(all.allocated, whole_gpus(2));
}

TEST(ClusterViews, nominated_gpus_are_reserved_once_they_are_free) {
    EngineWorld world;
    world.add(test::node("a", 4));
    PodFacts low = test::pod("low", "low", 3);
    low.preemptible = true;
    world.add(low);
    world.run();
    PodFacts high = test::pod("high", "high", 4);
    high.priority = 10;
    world.add(high);
    world.run();
    const auto reserved = [&world] { return find_node(world.engine.state(), "a")->gpus.reserved; };
    EXPECT_EQ(reserved(), whole_gpus(1)) << "the other three are still held";
    const std::optional<NodeView> there = find_node(world.engine.state(), "a");
    EXPECT_EQ(there->gpus.allocated, whole_gpus(3));
    // No GPU counts twice while the evicted pods are still there.
    EXPECT_EQ(gpus_total(there->used), whole_gpus(3));
    EXPECT_EQ(there->gpus_nominated, whole_gpus(4));
    EXPECT_EQ(there->excess, Resources{});
    const PoolView pool = list_pools(world.engine.state()).front();
    EXPECT_EQ(pool.gpus_used, whole_gpus(3));
    EXPECT_EQ(pool.gpus_excess, whole_gpus(0));
    EXPECT_EQ(pool.queues.front().held, whole_gpus(3));
    EXPECT_EQ(pool.queues.front().nominated, whole_gpus(4));
    EXPECT_EQ(find_job(world.engine.state(), "", "high")->pods.front().node, "");
}

PodFacts part(const std::string& name, std::int64_t thousandths) {
    PodFacts out = test::pod(name, name, 1);
    out.request.gpus.front().amount = GpuMilli{thousandths};
    return out;
}

TEST(ClusterViews, the_rest_of_gpus_in_parts_is_free) {
    EngineWorld world;
    world.add(test::node("a", 2));
    world.add(test::node("b", 1));
    for (const char* name : {"p", "q"}) world.add(part(name, 600));
    world.run();
    const PoolView pool = list_pools(world.engine.state()).front();
    EXPECT_EQ(pool.gpus_total, whole_gpus(3));
    EXPECT_EQ(pool.gpus_used, GpuMilli{1'200});
    EXPECT_EQ(pool.gpus_free, GpuMilli{1'800});
    EXPECT_EQ(pool.gpus.allocated, GpuMilli{1'200});
    EXPECT_EQ(pool.gpus.available, GpuMilli{1'800});
    EXPECT_EQ(pool.gpus_free_largest_on_a_node, whole_gpus(1)) << "a rest is no whole GPU";

    world.add(part("r", 1'000));
    world.add(part("s", 300));
    world.run();
    EXPECT_EQ(list_pools(world.engine.state()).front().gpus_free, GpuMilli{500});
    world.add(part("w", 1'000));
    world.run();
    EXPECT_EQ(wording::sentence(*find_job(world.engine.state(), "", "w")->waiting),
              "1 GPU requested on one node; pool default: 0 of 3 GPUs completely idle, at most 0 "
              "on one node");
}

TEST(ClusterViews, the_reserve_of_a_pool_is_not_available) {
    EngineWorld world;
    world.add(test::node("a", 8));
    Policy policy;
    policy.pools.push_back({"default", "", {{"lab", 0, 1, whole_gpus(7), std::nullopt}}});
    policy.pools.front().reserve_percent = 25;
    world.set(policy);
    PodFacts runs = test::pod("runs", "runs", 5);
    world.add(runs);
    world.run();
    const PoolView pool = list_pools(world.engine.state()).front();
    EXPECT_EQ(pool.reserve, whole_gpus(2));
    EXPECT_EQ(pool.gpus.allocated, whole_gpus(5));
    EXPECT_EQ(pool.gpus.reserved, whole_gpus(2));
    EXPECT_EQ(pool.gpus.available, whole_gpus(1));
    EXPECT_EQ(pool.guarantees_uncovered, whole_gpus(1)) << "7 are guaranteed of 6";
}

}  // namespace
}  // namespace gpuctl
