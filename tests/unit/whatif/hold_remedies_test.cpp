// Remedies of jobs that are held for a reason that more room would not resolve.

#include <gtest/gtest.h>

#include "scheduler/whatif/remedies.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

TEST(HoldRemedies, for_a_resource_that_only_a_device_class_serves_only_other_pools_are_tried) {
    EngineWorld world;
    world.add(node("a", 8));
    NodeFacts plain = node("b", 0, "plain");
    plain.allocatable.extended = {{"lab.example/gpu", 4}};
    world.add(plain);
    world.send(DeviceClassObserved{"c", "lab.example/gpu"});
    PodFacts asking = pod("one", "pod:one", 0);
    asking.request.extended = {{"lab.example/gpu", 1}};
    world.add(asking);
    world.run();
    const auto found =
        whatif::find_remedies(world.engine.export_state(), {"team-a", "pod:one"}, world.now);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->found.size(), 1U);
    EXPECT_EQ(wording::sentence(found->found.front().facts), "it would start now in pool plain");
    EXPECT_EQ(found->tried, std::vector{whatif::ChangeKind::other_pool});
}

TEST(HoldRemedies, nothing_is_tried_for_a_gang_whose_ranks_do_not_exist) {
    EngineWorld world;
    world.add(node("a", 8));
    world.add(gang("gang:g", 3, 1).front());
    world.run();
    const auto found =
        whatif::find_remedies(world.engine.export_state(), {"team-a", "gang:g"}, world.now);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->found.empty());
    EXPECT_TRUE(found->tried.empty()) << "more nodes make no ranks";
}

}  // namespace
}  // namespace gpuctl::test
