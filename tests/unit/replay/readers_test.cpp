#include <gtest/gtest.h>

#include "sim/replay/packing.hpp"
#include "sim/replay/trace.hpp"

namespace gpuctl::replay {
namespace {

template <typename T>
std::string message(const Result<T>& result) {
    return result ? "" : result.error().message;
}

TEST(Readers, order_jobs_by_submission_and_keep_the_files_order_among_equals) {
    const auto trace = read_philly(
        {"t.csv", "job_id,submit_s,num_gpu,run_s,restart_s\nb,5,1,1,1\na,0,1,1,1\nc,5,1,1,1\n"});
    ASSERT_TRUE(trace) << message(trace);
    ASSERT_EQ(trace->jobs.size(), 3u);
    EXPECT_EQ(trace->jobs[0].id, "a");
    EXPECT_EQ(trace->jobs[1].id, "b");
    EXPECT_EQ(trace->jobs[2].id, "c");
}

TEST(Readers, refuse_what_contradicts_itself) {
    EXPECT_EQ(message(read_backfill(
                  {"k.csv", "job_id,submit_s,run_s,procs,req_s,user\n1,0,20,1,10,7\n"})),
              "k.csv:2:5: run_s `20` is beyond the job's own limit req_s");
    EXPECT_EQ(message(read_philly({"t.csv",
                                   "job_id,submit_s,num_gpu,run_s,restart_s\n"
                                   "a,0,1,0,1\n"})),
              "t.csv:2:7: run_s `0` must be more than 0");
    const NamedText quotas{"q.csv", "vc,quota_gpus\nx,8\n"};
    EXPECT_EQ(message(read_virtual_clusters(
                  {"v.csv", "job_id,submit_s,num_gpu,run_s,vc\n1,0,1,9,y\n"}, quotas, Duration{0})),
              "v.csv:2:9: vc `y` has no line in q.csv");
    EXPECT_EQ(message(read_virtual_clusters({"v.csv", "job_id,submit_s,num_gpu,run_s,vc\n"},
                                            {"q.csv", "vc,quota_gpus\nx,8\nx,9\n"}, Duration{0})),
              "q.csv:3:1: vc `x` is there twice");
    EXPECT_EQ(message(read_elastic({"w.csv", "workload,job,submit_s,app,rigid_gpus,rigid_run_s\n"},
                                   {"e.csv", "app,epoch,s1\nnet,0,5\nnet,2,5\n"}, Duration{0})),
              "e.csv:3:5: epoch `2` is not 1, the next in order");
}

TEST(Readers, openb_wants_whole_gpus_when_there_are_several) {
    const NamedText nodes{"n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,1000,10,2,T4\n"};
    const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
    EXPECT_EQ(message(read_openb({"p.csv", header + "a,1,1,2,500,\n"}, nodes)),
              "p.csv:2:9: gpu_milli `500` is not between 1000 and 1000");
    EXPECT_EQ(message(read_openb({"p.csv", header + "a,1,1,1,500,T4|T4\n"}, nodes)), "");
}

TEST(Readers, openb_tasks_of_a_model_that_no_node_has_are_counted_and_fit_nowhere) {
    const NamedText nodes{"n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,1000,10,2,T4\n"};
    const auto trace = read_openb({"p.csv",
                                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
                                   "a,1,1,1,500,T4|H9\nb,1,1,1,500,H9|H8\nc,1,1,0,0,H7\n"},
                                  nodes);
    ASSERT_TRUE(trace) << message(trace);
    EXPECT_EQ(trace->models_unknown, (std::vector<std::string>{"H9", "H8"}));
    EXPECT_EQ(trace->tasks_of_unknown_models, 2);
    EXPECT_EQ(trace->tasks_fitting_nowhere, 1);
    EXPECT_TRUE(trace->nodes[0].fits(trace->tasks[0]));
    EXPECT_FALSE(trace->nodes[0].fits(trace->tasks[1]));
    EXPECT_TRUE(trace->nodes[0].fits(trace->tasks[2]));
}

TEST(Readers, openb_says_what_a_file_lacks_for_anything_to_be_measured) {
    const std::string node_header = "sn,cpu_milli,memory_mib,gpu,model\n";
    const NamedText nodes{"n.csv", node_header + "n0,1000,10,2,T4\n"};
    const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    const NamedText tasks{"p.csv", header + "a,1,1,1,500\n"};
    EXPECT_EQ(message(read_openb({"p.csv", header}, nodes)), "p.csv has no tasks");
    EXPECT_EQ(message(read_openb({"p.csv", header + "a,1,1,0,0\n"}, nodes)),
              "no task of p.csv asks for a GPU, and tasks arrive until they ask for a share of the "
              "cluster's GPUs");
    EXPECT_EQ(message(read_openb(tasks, {"n.csv", node_header})), "n.csv has no nodes");
    EXPECT_EQ(message(read_openb(tasks, {"n.csv", node_header + "n0,1000,10,0,T4\n"})),
              "no node of n.csv has a GPU, and the share of GPUs that are allocated is what is "
              "measured");
    EXPECT_EQ(message(read_openb(tasks, {"n.csv", nodes.text + "n0,9,9,1,T4\n"})),
              "n.csv:3:1: sn `n0` is there twice");
}

TEST(Readers, elastic_app_must_have_a_size_on_which_it_can_run_to_its_end) {
    const std::string header = "workload,job,submit_s,app,rigid_gpus,rigid_run_s\n";
    const NamedText epochs{"e.csv", "app,epoch,s1,s2\nnet,0,5,\nnet,1,5,4\nnet,2,,3\nsolo,0,5,\n"};
    EXPECT_EQ(message(read_elastic({"w.csv", header + "1,a,0,net,1,9\n"}, epochs, Duration{0})),
              "w.csv:2:7: app `net` has no number of GPUs that all of its epochs allow: in e.csv "
              "none that its epochs before allow is left in epoch 2");
    EXPECT_TRUE(read_elastic({"w.csv", header + "1,a,0,solo,1,9\n"}, epochs, Duration{0}));
    EXPECT_EQ(message(read_elastic({"w.csv", header + "1,a,0,solo,1,9\n"},
                                   {"e.csv", "app,epoch,s1\na,0,5\nb,0,5\na,0,6\n"}, Duration{0})),
              "e.csv:4:1: app `a` is there twice; its epochs must stand together");
    EXPECT_EQ(message(read_elastic({"w.csv", header + "1,a,0,solo,1,9\n"},
                                   {"e.csv", "app,epoch,s1,s1\nsolo,0,5,7\n"}, Duration{0})),
              "e.csv:1:1: column s1 is there twice");
}

TEST(Curve, allows_a_size_only_where_all_epochs_do) {
    constexpr Duration kNo = Curve::kNotAllowed;
    const Curve curve{"net", {1, 2, 4}, {{Duration{9}, Duration{6}, kNo}, {kNo, kNo, Duration{4}}}};
    EXPECT_FALSE(curve.allows(1));
    EXPECT_FALSE(curve.allows(4));
    EXPECT_TRUE(curve.allows(4, 1));
    EXPECT_EQ(curve.size_min(), std::nullopt);
    const Curve from_two{"net", {1, 2, 4}, {{kNo, Duration{6}, kNo}}};
    EXPECT_EQ(from_two.size_min(), 2);
    EXPECT_TRUE(from_two.allows(3));  // as two
}

TEST(Curve, size_that_is_not_listed_is_the_next_smaller) {
    const Curve curve{"net", {1, 2, 4}, {{Duration{100}, Duration{60}, Duration{40}}}};
    EXPECT_EQ(curve.epoch_time(0, 3), Duration{60});
    EXPECT_EQ(curve.epoch_time(0, 9), Duration{40});
    EXPECT_EQ(curve.epoch_time(0, 0), Curve::kNotAllowed);
}

}  // namespace
}  // namespace gpuctl::replay
