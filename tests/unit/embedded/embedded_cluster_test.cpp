#include <algorithm>

#include "scheduler/base/archive.hpp"
#include "unit/embedded/embedded_fixture.hpp"

namespace gpuctl::embedded {
namespace {

template <typename T>
std::int64_t count_of(const std::vector<Event>& events) {
    return std::count_if(events.begin(), events.end(),
                         [](const Event& event) { return std::holds_alternative<T>(event); });
}

TEST(EmbeddedNodes, are_labelled_as_an_administrator_would) {
    const std::vector<NodeFacts> nodes = make_nodes(quick_settings().nodes, "runwhere.ai");
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[1].name, "train-1");
    EXPECT_EQ(nodes[1].labels.at("runwhere.ai/pool"), "training");
    EXPECT_EQ(nodes[1].labels.at("runwhere.ai/gpu-type"), "A100-80G");
    EXPECT_EQ(nodes[1].labels.at("kubernetes.io/hostname"), "train-1");
    EXPECT_EQ(gpus_total(nodes[1].allocatable), whole_gpus(8));
    EXPECT_FALSE(nodes[2].labels.contains("runwhere.ai/pool"));
}

TEST_F(EmbeddedTest, a_start_reports_all_objects_then_synced_then_leadership) {
    MemorySink sink;
    EmbeddedCluster cluster{loop, quick_settings(), {}};
    EXPECT_FALSE(cluster.health().front().ok);
    cluster.start(sink);
    ASSERT_EQ(sink.events.size(), 5u);
    EXPECT_EQ(count_of<NodeObserved>(sink.events), 3);
    EXPECT_TRUE(std::holds_alternative<CacheSynced>(sink.events[3]));
    EXPECT_TRUE(std::get<LeadershipChanged>(sink.events[4]).leading);
    for (const ports::HealthLine& line : cluster.health()) EXPECT_TRUE(line.ok) << line.name;
    stop(cluster);
}

TEST_F(EmbeddedTest, a_job_runs_in_real_time) {
    MemorySink sink;
    EmbeddedCluster cluster{loop, quick_settings(), {}};
    cluster.start(sink);
    const JobRecord job = make_job("llm", JobKind::training, 1, 8, "training");
    cluster.carry_out(CreateWorkload{EffectId{1}, Epoch{1}, job});
    ASSERT_TRUE(turn_until([&] { return sink.pods.size() == 1; }));
    EXPECT_EQ(count_of<WorkloadOutcome>(sink.events), 1);
    const PodFacts pod = sink.pods.begin()->second;
    cluster.carry_out(BindPod{EffectId{2}, Epoch{1}, {pod.key, pod.uid}, "train-0", 1, {}});
    ASSERT_TRUE(turn_until([&] { return sink.pods.begin()->second.phase == PodPhase::succeeded; }));
    const PodFacts& done = sink.pods.begin()->second;
    EXPECT_EQ((done.finished_at - done.started_at).ms(), 200);
    EXPECT_LE(done.finished_at.ms(), aio::Loop::wall_ms());
    stop(cluster);
}

TEST_F(EmbeddedTest, a_full_sink_loses_reorders_and_repeats_nothing) {
    MemorySink sink;
    sink.room = 0;
    EmbeddedCluster cluster{loop, quick_settings(), {}};
    cluster.start(sink);
    cluster.carry_out(
        CreateWorkload{EffectId{1}, Epoch{1}, make_job("web", JobKind::inference, 20, 0)});
    EXPECT_FALSE(cluster.health().back().ok);
    ASSERT_TRUE(turn_until([&] {
        sink.room = 1;
        return count_of<PodObserved>(sink.events) == 20;
    }));
    EXPECT_EQ(count_of<NodeObserved>(sink.events), 3);
    EXPECT_EQ(count_of<CacheSynced>(sink.events), 1);
    EXPECT_EQ(count_of<WorkloadOutcome>(sink.events), 1);
    EXPECT_TRUE(std::holds_alternative<CacheSynced>(sink.events[3]));
    EXPECT_TRUE(std::holds_alternative<WorkloadOutcome>(sink.events[5]));
    EXPECT_EQ(sink.pods.size(), 20u);
    stop(cluster);
}

TEST_F(EmbeddedTest, nothing_is_reported_after_a_stop) {
    MemorySink sink;
    EmbeddedCluster cluster{loop, quick_settings(), {}};
    cluster.start(sink);
    stop(cluster);
    const std::size_t count = sink.events.size();
    cluster.carry_out(
        CreateWorkload{EffectId{1}, Epoch{1}, make_job("web", JobKind::inference, 1, 0)});
    cluster.disturb(sim::NodeLost{"train-0"});
    cluster.catch_up();
    EXPECT_EQ(sink.events.size(), count);
    EXPECT_FALSE(cluster.health().front().ok);
}

}  // namespace
}  // namespace gpuctl::embedded
