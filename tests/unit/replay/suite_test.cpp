// Output of the suites on files of a few lines.

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

// Here the node events take the engine longer than the rest of the replay.
TEST(Philly, the_engines_time_is_part_of_the_replays) {
    SuiteRequest request;
    request.suite = Suite::philly64;
    request.nodes = 2'000;
    SuiteInput input;
    input.jobs = {"t.csv", "job_id,submit_s,num_gpu,run_s,restart_s\na,0,1,1,1\n"};
    const Figures figures = replayed(request, input);
    EXPECT_GT(figures.number("engine_s"), 0);
    EXPECT_GE(figures.number("wall_s"), figures.number("engine_s"));
}

TEST(VirtualClusters, quotas_beyond_the_cluster_are_reported) {
    SuiteRequest request;
    request.suite = Suite::vc;
    request.nodes = 2;
    SuiteInput input;
    input.jobs = {"v.csv", "job_id,submit_s,num_gpu,run_s,vc\n1,0,8,9,x\n2,0,8,9,y\n"};
    input.quotas = {"q.csv", "vc,quota_gpus\nx,8\ny,8\n"};
    const Figures held = replayed(request, input);
    EXPECT_EQ(held.number("quota_gpus"), 16);
    EXPECT_TRUE(held.remarks().empty());
    request.nodes = 1;
    const Figures beyond = replayed(request, input);
    EXPECT_EQ(beyond.number("quota_gpus"), 16);
    EXPECT_EQ(beyond.number("gpus"), 8);
    ASSERT_EQ(beyond.remarks().size(), 1u);
    EXPECT_EQ(beyond.remarks()[0].substr(0, 74),
              "the quotas come to 16 GPUs of a cluster with 8: not all of them can be gua");
}

TEST(Openb, nodes_may_be_large_and_tasks_want_models_that_are_not_there) {
    SuiteRequest request;
    request.suite = Suite::openb;
    SuiteInput input;
    input.nodes = {"n.csv",
                   "sn,cpu_milli,memory_mib,gpu,model\nn0,9000000,9000000,72,B200\n"
                   "n1,64000,100000,1024,T4\nn2,64000,100000,0,\n"};
    input.jobs = {"p.csv",
                  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,10,16,1000,\n"
                  "b,1000,10,1,500,T4|H9\nc,1000,10,1,300,\nd,1000,10,2,1000,H9\n"};
    for (const char* policy : {"engine", "random", "best_fit", "fgd"}) {
        request.policy = policy;
        const Figures figures = replayed(request, input);
        EXPECT_EQ(figures.number("gpus"), 1096) << policy;
        EXPECT_EQ(figures.number("dropped_though_fitting"), 0) << policy;
        EXPECT_GT(figures.number("allocation_ratio"), 0) << policy;
        ASSERT_EQ(figures.remarks().size(), 1u);
        EXPECT_EQ(figures.remarks()[0],
                  "2 tasks of p.csv ask for GPU models that no node has (H9); 1 of them ask for no "
                  "other, so that they fit nowhere and are dropped");
    }
}

}  // namespace
}  // namespace gpuctl::replay
