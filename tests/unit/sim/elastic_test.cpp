// The virtual cluster as the controller of elastic jobs.

#include <algorithm>
#include <set>

#include "unit/sim/sim_world.hpp"

namespace gpuctl::sim {
namespace {

class SimElastic : public ::testing::Test {
protected:
    SimElastic() {
        settings.container_stop_max = Duration{20'000};
        job.spec.replicas_min = 1;
        world.create(job);
    }
    // What it answers, and which size that names.
    WorkloadResizeOutcome resize(std::int32_t from, std::int32_t to,
                                 const std::string& uid = "uid-of-llm") {
        const EffectId id{1'000 + ++asked};
        world.cluster.carry_out(ResizeWorkload{id, Epoch{1}, job.spec.key, uid, from, to, {}},
                                world.now, world.events);
        world.run_for(Duration{10});
        for (const Event& event : world.events) {
            const auto* outcome = std::get_if<WorkloadResizeOutcome>(&event);
            if (outcome != nullptr && outcome->effect == id) return *outcome;
        }
        ADD_FAILURE() << "no outcome";
        return {};
    }
    std::set<std::int32_t> ranks() {
        std::set<std::int32_t> out;
        for (const PodFacts& pod : world.pods()) out.insert(pod.rank);
        return out;
    }

    Settings settings;
    JobRecord job = make_job("llm", JobKind::training, 4, 2);
    SimWorld world{settings};
    std::uint64_t asked = 0;
};

TEST_F(SimElastic, shrinking_stops_the_highest_ranks_with_their_grace_and_the_others_continue) {
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-0");
    world.run_for(Duration{5'000});
    const std::vector<PodFacts> before = world.pods();
    EXPECT_EQ(resize(4, 2).result, ResizeResult::resized);
    for (const PodFacts& pod : world.pods()) EXPECT_EQ(pod.terminating, pod.rank >= 2) << pod.rank;
    world.run_for(Duration{21'000});
    EXPECT_EQ(ranks(), (std::set<std::int32_t>{0, 1}));
    EXPECT_EQ(world.pods()[0].uid, before[0].uid);
    EXPECT_EQ(world.cluster.events_of(job.spec.key).back().reason, "Resized");
}

TEST_F(SimElastic, growing_creates_ranks_and_shrinking_removes_waiting_ones_at_once) {
    EXPECT_EQ(resize(4, 1).result, ResizeResult::resized);
    EXPECT_EQ(ranks(), std::set<std::int32_t>{0});
    EXPECT_EQ(resize(1, 3).result, ResizeResult::resized);
    EXPECT_EQ(ranks(), (std::set<std::int32_t>{0, 1, 2}));
}

// Like the API server's watch, also for a resize whose sender is gone: the scheduler has no other
// way to learn of it (seed 11182).
TEST_F(SimElastic, every_resize_and_the_end_are_reported) {
    const auto shown = [&] {
        std::vector<std::pair<std::int64_t, WorkloadPhase>> out;
        for (const Event& event : world.events) {
            const auto* workload = std::get_if<WorkloadObserved>(&event);
            if (workload != nullptr)
                out.emplace_back(workload->workload.replicas, workload->workload.phase);
        }
        return out;
    };
    using Shown = std::vector<std::pair<std::int64_t, WorkloadPhase>>;
    resize(4, 2);
    EXPECT_EQ(shown(), (Shown{{2, WorkloadPhase::active}}));
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-0");
    world.run_for(settings.training_run_time + Duration{10'000});
    EXPECT_EQ(shown().back(), (Shown::value_type{2, WorkloadPhase::complete}));
    world.events.clear();
    world.cluster.announce({}, world.events);
    EXPECT_EQ(shown(), (Shown{{2, WorkloadPhase::complete}})) << "a full list shows it too";
}

TEST_F(SimElastic, a_resize_from_another_size_is_refused) {
    EXPECT_EQ(resize(4, 3).result, ResizeResult::resized);
    EXPECT_EQ(resize(4, 3).result, ResizeResult::resized) << "done already";
    const WorkloadResizeOutcome late = resize(4, 1);
    EXPECT_EQ(late.result, ResizeResult::other_size);
    EXPECT_EQ(late.size, 3);
    EXPECT_EQ(resize(3, 1, "of another job").result, ResizeResult::gone);
    EXPECT_EQ(ranks().size(), 3u);
}

TEST_F(SimElastic, a_job_ends_when_its_present_ranks_have_ended) {
    resize(4, 2);
    for (const PodFacts& pod : world.pods()) world.bind(pod, "node-0");
    world.run_for(settings.training_run_time + Duration{10'000});
    EXPECT_EQ(ranks(), (std::set<std::int32_t>{0, 1})) << "and no other is created";
    for (const PodFacts& pod : world.pods()) EXPECT_EQ(pod.phase, PodPhase::succeeded);
    EXPECT_EQ(resize(2, 4).result, ResizeResult::gone) << "an ended job has no size";
}

}  // namespace
}  // namespace gpuctl::sim
