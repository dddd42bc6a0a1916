#include "scheduler/model/policy/maintenance.hpp"

#include <gtest/gtest.h>

#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {
namespace {

MaintenanceWindow window(std::int64_t begin, std::int64_t length, std::int64_t every = 0) {
    MaintenanceWindow out;
    out.begin = Instant{begin};
    out.length = Duration{length};
    out.every = Duration{every};
    return out;
}

void expect_next(const MaintenanceWindow& of, std::int64_t from, std::int64_t begin,
                 std::int64_t end) {
    const Occurrence next = next_occurrence(of, Instant{from});
    EXPECT_EQ(next.begin.ms(), begin) << "from " << from;
    EXPECT_EQ(next.end.ms(), end) << "from " << from;
}

TEST(Maintenance, a_window_without_repetition_ends_for_ever) {
    expect_next(window(100, 50), 1, 100, 150);
    expect_next(window(100, 50), 149, 100, 150);
    expect_next(window(100, 50), 150, 0, 0);
}

TEST(Maintenance, a_repeated_window_is_open_or_has_a_next_occurrence) {
    const MaintenanceWindow weekly = window(100, 50, 1'000);
    expect_next(weekly, 1, 100, 150);
    expect_next(weekly, 100, 100, 150);
    expect_next(weekly, 149, 100, 150);
    expect_next(weekly, 150, 1'100, 1'150);
    expect_next(weekly, 1'099, 1'100, 1'150);
    expect_next(weekly, 1'100, 1'100, 1'150);
    expect_next(weekly, 987'654'321, 987'655'100, 987'655'150);
}

TEST(Maintenance, a_window_without_a_length_never_opens) {
    expect_next(window(100, 0, 10), 1, 0, 0);
}

TEST(Maintenance, covers_nodes_that_match_all_given_conditions) {
    NodeFacts node;
    node.name = "a";
    node.pool = "p";
    node.labels = {{"rack", "r7"}, {"row", "1"}};
    MaintenanceWindow of;
    EXPECT_TRUE(covers(of, node));
    of.pool = "p";
    of.nodes = {"b", "a"};
    of.labels = {{"rack", "r7"}};
    EXPECT_TRUE(covers(of, node));
    for (const auto& break_it : std::initializer_list<void (*)(NodeFacts&)>{
             [](NodeFacts& other) { other.name = "c"; }, [](NodeFacts& other) { other.pool = "q"; },
             [](NodeFacts& other) { other.labels["rack"] = "r8"; },
             [](NodeFacts& other) { other.labels.erase("rack"); }}) {
        NodeFacts other = node;
        break_it(other);
        EXPECT_FALSE(covers(of, other));
    }
}

TEST(Maintenance, pods_without_a_controller_are_not_drained) {
    PodFacts pod;
    pod.preemptible = true;
    EXPECT_FALSE(is_stopped_by(Drain::all, pod));
    pod.has_controller = true;
    EXPECT_FALSE(is_stopped_by(Drain::none, pod));
    EXPECT_TRUE(is_stopped_by(Drain::preemptible, pod));
    pod.preemptible = false;
    EXPECT_FALSE(is_stopped_by(Drain::preemptible, pod));
    EXPECT_TRUE(is_stopped_by(Drain::all, pod));
}

}  // namespace
}  // namespace gpuctl
