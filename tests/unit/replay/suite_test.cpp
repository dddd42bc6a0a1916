// What a suite says of itself, on files of a few lines.

#include "bench/replay/suite.hpp"

#include <gtest/gtest.h>

namespace gpuctl::replay {
namespace {

constexpr const char* kElasticHeader = "workload,job,submit_s,app,rigid_gpus,rigid_run_s\n";

// Two workloads of one job each.
SuiteInput elastic_input() {
    SuiteInput input;
    input.jobs = {"w.csv", kElasticHeader + std::string{"1,a,0,net,2,9\n2,b,5,net,4,9\n"}};
    input.epochs = {"e.csv", "app,epoch,s1,s2,s4\nnet,0,100,60,40\n"};
    return input;
}

Figures replayed(const SuiteRequest& request, const SuiteInput& input) {
    auto figures = run_suite(request, input);
    EXPECT_TRUE(figures) << figures.error().message;
    return figures ? std::move(*figures) : Figures{};
}

TEST(Elastic, the_effort_is_that_of_all_workloads) {
    SuiteRequest request;
    request.suite = Suite::elastic;
    request.gpus = 4;
    const Figures both = replayed(request, elastic_input());
    SuiteInput alone = elastic_input();
    alone.jobs.text = kElasticHeader + std::string{"1,a,0,net,2,9\n"};
    const Figures one = replayed(request, alone);
    EXPECT_EQ(both.number("decisions"), 2 * one.number("decisions"));
    EXPECT_EQ(both.number("engine_inputs"), 2 * one.number("engine_inputs"));
    EXPECT_EQ(both.number("engine_plans"), 2 * one.number("engine_plans"));
}

// Some sizes are left out, one is far slower than the rest, one far faster.
TEST(Elastic, an_odd_table_of_epochs_is_replayed) {
    SuiteRequest request;
    request.suite = Suite::elastic;
    request.gpus = 8;
    SuiteInput input = elastic_input();
    for (const char* row : {"net,0,,60,,40", "net,0,100,,40,30", "net,0,5,900000,0.001,",
                            "net,0,1000000000,0.001,0.001,0.001"}) {
        input.epochs.text = "app,epoch,s1,s2,s4,s8\n" + std::string{row} + "\n";
        EXPECT_EQ(replayed(request, input).number("jobs"), 2) << row;
    }
}

TEST(Elastic, a_cluster_below_the_sizes_that_users_chose_will_do_where_those_are_not_used) {
    SuiteRequest request;
    request.suite = Suite::elastic;
    request.gpus = 2;  // one user chose 4
    EXPECT_EQ(replayed(request, elastic_input()).number("jobs"), 2);
    SuiteRequest rigid = request;
    rigid.policy = "tiresias";
    const auto refused = run_suite(rigid, elastic_input());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "job b asks for 4 GPUs of 2; give the replay a larger cluster");
    SuiteInput from_four = elastic_input();
    from_four.epochs.text = "app,epoch,s1,s2,s4\nnet,0,,,40\n";
    const auto too_small = run_suite(request, from_four);
    ASSERT_FALSE(too_small);
    EXPECT_EQ(too_small.error().message,
              "job a needs at least 4 GPUs of 2; give the replay a larger cluster");
}

}  // namespace
}  // namespace gpuctl::replay
