// What people are told of nodes and pools.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"

namespace gpuctl {
namespace {

using test::EngineWorld;

PodFacts foreign(const std::string& name, const std::string& on, std::int64_t gpus) {
    PodFacts out = test::pod(name, "", gpus);
    out.ours = false;
    out.node = on;
    return out;
}

TEST(ClusterViews, tell_what_other_schedulers_put_on_a_node_beyond_what_it_has) {
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
    EXPECT_EQ(pool.gpus_used, whole_gpus(11)) << "what is asked for beyond a node is no GPU";
    EXPECT_EQ(pool.gpus_free, whole_gpus(5));
}

TEST(ClusterViews, count_a_node_that_came_back_smaller_than_what_runs_on_it) {
    EngineWorld world;
    world.send(NodeObserved{test::node("a", 8)});
    world.add(foreign("runs", "a", 8));
    EXPECT_EQ(list_pools(world.engine.state()).front().nodes_excess, 0);
    world.send(NodeObserved{test::node("a", 4)});
    EXPECT_EQ(gpus_total(find_node(world.engine.state(), "a")->excess), whole_gpus(4));
    EXPECT_EQ(list_pools(world.engine.state()).front().nodes_excess, 1);
}

}  // namespace
}  // namespace gpuctl
