#include "sim/replay/packing.hpp"

#include <gtest/gtest.h>

#include "bench/reference/packers.hpp"
#include "sim/replay/fragmentation.hpp"

namespace gpuctl::replay {
namespace {

constexpr const char* kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\nn0,4000,100,2,T4\nn1,8000,100,2,G2\n";
constexpr const char* kHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

PackTrace trace_of(const std::string& rows) {
    auto trace = read_openb({"p.csv", kHeader + rows}, {"n.csv", kNodes});
    EXPECT_TRUE(trace);
    return *trace;
}

TEST(PackNode, every_resource_and_the_model_must_fit) {
    const PackTrace trace =
        trace_of("a,4000,1,1,600,\nb,4001,1,0,0,\nc,1,101,0,0,\nd,1,1,1,1000,G2\ne,1,1,3,1000,\n");
    const PackNode& node = trace.nodes[0];
    EXPECT_TRUE(node.fits(trace.tasks[0]));
    EXPECT_FALSE(node.fits(trace.tasks[1]));
    EXPECT_FALSE(node.fits(trace.tasks[2]));
    EXPECT_FALSE(node.fits(trace.tasks[3]));
    EXPECT_FALSE(node.fits(trace.tasks[4]));
}

TEST(PackNode, shared_gpu_must_have_it_all_on_one_device_and_whole_ones_be_untouched) {
    const PackTrace trace = trace_of("a,1,1,1,600,\nb,1,1,2,1000,\n");
    PackNode node = with_task(trace.nodes[0], trace.tasks[0], 0);
    EXPECT_FALSE(node.fits(trace.tasks[1]));
    node = with_task(node, trace.tasks[0], 1);
    EXPECT_FALSE(node.fits(trace.tasks[0]));  // 800 free, on two devices
    EXPECT_EQ(node.gpu_free_total_milli(), 800);
}

TEST(Fragmentation, is_the_idle_gpu_that_typical_tasks_cannot_use) {
    const PackTrace trace = trace_of("a,1000,1,1,600,\nb,1000,1,2,1000,\n");
    const Fragmentation fragmentation(trace.tasks);
    EXPECT_EQ(fragmentation.weight_total(), 2);
    EXPECT_EQ(fragmentation.weighted_milli(trace.nodes[0]), 0);
    // 400 + 1000 idle: `a` cannot use the 400, `b` nothing.
    const PackNode node = with_task(trace.nodes[0], trace.tasks[0], 0);
    EXPECT_EQ(fragmentation.weighted_milli(node), 400 + 1400);
}

TEST(Arrivals, are_the_shuffled_trace_then_draws_up_to_the_share_asked_for) {
    const PackTrace trace = trace_of("a,1,1,1,500,\nb,1,1,1,250,\n");
    const auto half = *draw_arrivals(trace, 50, 7);  // two of four GPUs
    std::int64_t asked = 0;
    for (const PackTask& task : half) asked += task.gpu_total().value();
    EXPECT_LE(asked, 2000);
    EXPECT_GT(asked, 2000 - 500);
    EXPECT_NE(half[0].name, half[1].name);  // each once before any again
    const auto again = *draw_arrivals(trace, 50, 7);
    ASSERT_EQ(again.size(), half.size());
    for (std::size_t i = 0; i < half.size(); ++i) EXPECT_EQ(again[i].name, half[i].name);
}

TEST(Arrivals, of_tasks_that_hardly_ask_for_gpus_are_refused_instead_of_drawn_without_end) {
    PackTrace trace = trace_of("a,1,1,1,1,\n");
    PackTask without_gpu = trace.tasks[0];
    without_gpu.gpus = 0;
    trace.tasks.resize(2'000, without_gpu);
    const auto refused = draw_arrivals(trace, 130, 7);  // 5,200 times the one task, of 2,000
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("hardly any of them asks for one"), std::string::npos);
    EXPECT_TRUE(draw_arrivals(trace, 1, 7));
}

TEST(BestFit, takes_the_fullest_node_and_the_fullest_gpu_on_it) {
    const PackTrace trace = trace_of("a,1000,1,1,500,\nb,1000,1,1,300,\n");
    Packing world(trace);
    const auto best_fit = reference::make_best_fit();
    world.place(trace.tasks[0], Spot{NodeIndex{0}, 1});
    const auto spot = best_fit->choose(trace.tasks[1], world);
    ASSERT_TRUE(spot);
    EXPECT_EQ(spot->node, NodeIndex{0});
    EXPECT_EQ(spot->gpu, 1);
}

TEST(Fgd, fills_a_started_gpu_before_it_breaks_a_whole_one) {
    const PackTrace trace = trace_of("a,1000,1,1,500,\nb,1000,1,2,1000,\n");
    Packing world(trace);
    const auto fgd = reference::make_fgd(trace);
    for (int i = 0; i < 2; ++i) {
        const auto spot = fgd->choose(trace.tasks[0], world);
        ASSERT_TRUE(spot);
        world.place(trace.tasks[0], *spot);
    }
    const auto spot = fgd->choose(trace.tasks[1], world);
    ASSERT_TRUE(spot);  // one node kept both its GPUs whole
}

TEST(Packing, counts_what_was_dropped_and_that_nothing_fitting_was) {
    const PackTrace trace = trace_of("a,1000,1,2,1000,\n");
    const auto random = reference::make_random(1);
    const std::vector<PackTask> arrivals(3, trace.tasks[0]);
    const PackOutcome outcome = run_packing(trace, arrivals, *random);
    EXPECT_EQ(outcome.placed, 2);
    EXPECT_EQ(outcome.dropped, 1);
    EXPECT_EQ(outcome.dropped_though_fitting, 0);
    EXPECT_EQ(outcome.allocated_milli, outcome.gpus_milli);
}

}  // namespace
}  // namespace gpuctl::replay
