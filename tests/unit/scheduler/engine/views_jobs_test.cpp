// Views of jobs.

#include <gtest/gtest.h>

#include "scheduler/engine/views.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

std::vector<std::string> names(const EngineWorld& world, const JobFilter& filter) {
    std::vector<std::string> out;
    for (const JobView& view : list_jobs(world.engine.state(), filter)) {
        out.push_back(shown_name(view.key));
    }
    return out;
}

TEST(Views, jobs_are_listed_by_the_names_that_people_see) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(pod("zoo-0", "zoo", 1));
    world.add(pod("mill", "", 1));  // a single pod
    world.add(pod("ape-0", "ape", 1));
    world.run();
    EXPECT_EQ(names(world, {}), (std::vector<std::string>{"ape", "mill", "zoo"}));
}

TEST(Views, jobs_that_were_not_submitted_here_can_be_listed_alone) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(pod("theirs", "", 1));
    JobRecord ours;
    ours.uid = "uid-of-ours";
    ours.spec.key = {"team-a", "ours"};
    world.send(JobSubmitted{ours});
    JobFilter filter;
    filter.made_elsewhere = true;
    EXPECT_EQ(names(world, filter), (std::vector<std::string>{"theirs"}));
    filter.made_elsewhere = false;
    filter.kind = JobKind::training;
    EXPECT_EQ(names(world, filter), (std::vector<std::string>{"ours"}));
}

// Regression: waits, priorities and positions were shown as of the last event.
TEST(Views, waiting_time_grows_without_events) {
    EngineWorld world;
    Policy policy;
    policy.ageing_step = 1'000;
    policy.ageing_every = Duration::seconds(10);
    policy.ageing_maximum = 1'000;
    world.set(policy);
    world.add(node("a", 1));
    world.add(pod("holds", "", 1));
    world.run();
    world.add(pod("old", "", 1));
    world.run();
    world.now = world.now + Duration::seconds(8);
    PodFacts young = pod("young", "", 1);
    young.priority = 500;
    world.add(young);
    world.run();
    const ClusterState& state = world.engine.state();
    const std::uint64_t hash = world.engine.state_hash();
    const ObjectKey old{"team-a", "pod:old"};
    EXPECT_EQ(find_job(state, "team-a", "old")->position, 2);
    const Duration waited = turn_of(state, old)->waited;
    state.session.look(world.now + Duration::seconds(8));
    EXPECT_GE(turn_of(state, old)->waited, waited + Duration::seconds(7));
    EXPECT_EQ(turn_of(state, old)->priority_by_waiting, 1'000);
    EXPECT_EQ(find_job(state, "team-a", "old")->position, 1) << "as it would be served now";
    EXPECT_EQ(world.engine.state_hash(), hash) << "a query changes no state";
    world.send(PodRemoved{"unknown"});
    EXPECT_LT(turn_of(state, old)->waited, waited + Duration::seconds(7))
        << "the event's clock counts";
}

}  // namespace
}  // namespace gpuctl::test
