// The filters of lists.

#include "daemon/api/http/selection.hpp"

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::api {
namespace {

Call asking(std::string_view target) {
    Call call;
    call.target = net::parse_target(target);
    return call;
}

TEST(Selection, by_pool_finds_the_jobs_of_a_pool_whose_last_node_is_gone) {
    test::EngineWorld world;
    world.add(test::node("a", 8, "experiment"));
    PodFacts runs = test::pod("runs", "job", 4);
    runs.pool = "experiment";
    world.add(runs);
    world.run();
    const Call call = asking("/api/v1/jobs?pool=experiment");
    ASSERT_EQ(*pool_of(world.engine.listing(), call), "experiment");
    world.remove_node("a");

    const ClusterState& state = world.engine.state();
    ASSERT_EQ(list_jobs(state, {}).front().pool, "experiment");
    const Result<std::string> pool = pool_of(world.engine.listing(), call);
    ASSERT_TRUE(pool) << pool.error().message;
    EXPECT_EQ(*pool, "experiment");
    EXPECT_EQ(pool_of(world.engine.listing(), asking("/api/v1/jobs?pool=nope")).error().message,
              "pool nope does not exist; existing pools: default");
    world.remove_pod("runs");
    EXPECT_FALSE(pool_of(world.engine.listing(), call)) << "nothing is left of it";
}

TEST(Selection, by_pool_finds_a_configured_pool_without_nodes_and_jobs) {
    test::EngineWorld world;
    Policy policy;
    policy.pools.emplace_back().name = "later";
    world.set(policy);
    EXPECT_EQ(*pool_of(world.engine.listing(), asking("/api/v1/nodes?pool=later")), "later");
}

}  // namespace
}  // namespace gpuctl::api
