#include "sim/replay/progress.hpp"

#include <gtest/gtest.h>

#include "sim/replay/places.hpp"

namespace gpuctl::replay {
namespace {

TraceJob job_of(std::int64_t run_s, std::int64_t start_s, std::int64_t restart_s) {
    TraceJob job;
    job.run = Duration::seconds(run_s);
    job.start_cost = Duration::seconds(start_s);
    job.restart_cost = Duration::seconds(restart_s);
    return job;
}

TEST(Overhead, clean_charges_each_start_once_and_nothing_else) {
    const TraceJob job = job_of(100, 5, 7);
    Progress progress(job, nullptr);
    progress.start_on(1, Overhead::clean);
    EXPECT_EQ(progress.until_finished(), Duration::seconds(105));
    progress.advance(Duration::seconds(3), Overhead::clean);
    EXPECT_EQ(progress.remaining_work_on(1), Duration::seconds(100));
    progress.advance(Duration::seconds(12), Overhead::clean);
    progress.advance(Duration::seconds(10), Overhead::clean);
    EXPECT_EQ(progress.until_finished(), Duration::seconds(80));
    progress.start_on(1, Overhead::clean);  // resumed after a stop
    EXPECT_EQ(progress.until_finished(), Duration::seconds(87));
}

TEST(Overhead, muri_charges_every_event_but_never_below_nothing) {
    const TraceJob job = job_of(100, 5, 5);
    Progress progress(job, nullptr);
    progress.start_on(1, Overhead::muri);
    EXPECT_EQ(progress.until_finished(), Duration::seconds(100));
    progress.advance(Duration::seconds(20), Overhead::muri);
    EXPECT_EQ(progress.remaining_work_on(1), Duration::seconds(85));
    progress.advance(Duration::seconds(3), Overhead::muri);
    EXPECT_EQ(progress.remaining_work_on(1), Duration::seconds(85));
}

TEST(Progress, work_inside_an_epoch_carries_over_to_another_size_pro_rata) {
    const Curve curve{
        "net",
        {1, 2},
        {{Duration{100'000}, Duration{60'000}}, {Duration{200'000}, Duration{80'000}}}};
    const TraceJob job = job_of(300, 0, 30);
    Progress progress(job, &curve);
    progress.start_on(1, Overhead::clean);
    progress.advance(Duration::seconds(25), Overhead::clean);
    EXPECT_EQ(progress.remaining_work_on(1), Duration::seconds(275));
    EXPECT_EQ(progress.remaining_work_on(2), Duration::seconds(45 + 80));
    progress.start_on(2, Overhead::clean);
    EXPECT_EQ(progress.until_finished(), Duration::seconds(30 + 45 + 80));
    progress.advance(Duration::seconds(30 + 45 + 10), Overhead::clean);
    EXPECT_EQ(progress.remaining_work_on(2), Duration::seconds(70));
}

TEST(Progress, runs_on_no_size_its_curve_leaves_out) {
    const Curve curve{"ncf", {1, 2}, {{Duration{100}, Curve::kNotAllowed}}};
    const TraceJob job = job_of(1, 0, 0);
    EXPECT_TRUE((Progress{job, &curve}.can_run_on(1)));
    EXPECT_FALSE((Progress{job, &curve}.can_run_on(2)));
    EXPECT_FALSE((Progress{job, &curve}.can_run_on(0)));
    EXPECT_FALSE((Progress{job, nullptr}.can_run_on(2)));
}

TEST(Places, packed_job_up_to_a_nodes_size_takes_one_node) {
    Places places(2, 8, Placing::packed);
    EXPECT_EQ(places.allocate(5)->node, 0);
    EXPECT_EQ(places.allocate(5)->node, 1);
    EXPECT_FALSE(places.allocate(6));  // six are free, on two nodes
    EXPECT_EQ(places.allocate(3)->node, 0);
    EXPECT_EQ(places.free(), 3);
}

TEST(Places, larger_job_takes_whole_nodes_and_one_for_the_rest) {
    Places places(3, 8, Placing::packed);
    const auto small = places.allocate(4);
    const auto wide = places.allocate(12);
    ASSERT_TRUE(wide);
    EXPECT_EQ(wide->whole_nodes, std::vector<std::int32_t>{1});
    EXPECT_EQ(wide->node, 0);
    EXPECT_EQ(wide->gpus, 4);
    EXPECT_FALSE(places.allocate(9));
    places.give_back(*wide);
    places.give_back(*small);
    EXPECT_EQ(places.free(), 24);
    EXPECT_TRUE(places.allocate(24));
}

TEST(Places, refusal_changes_nothing) {
    Places places(2, 8, Placing::packed);
    EXPECT_TRUE(places.allocate(8));
    EXPECT_FALSE(places.allocate(12));
    EXPECT_EQ(places.free(), 8);
    EXPECT_TRUE(places.allocate(8));
}

}  // namespace
}  // namespace gpuctl::replay
