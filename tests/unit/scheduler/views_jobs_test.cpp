// What people are told of jobs.

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
    world.add(pod("mill", "", 1));  // a lone pod
    world.add(pod("ape-0", "ape", 1));
    world.run();
    EXPECT_EQ(names(world, {}), (std::vector<std::string>{"ape", "mill", "zoo"}));
}

TEST(Views, what_was_made_elsewhere_can_be_listed_alone) {
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

}  // namespace
}  // namespace gpuctl::test
