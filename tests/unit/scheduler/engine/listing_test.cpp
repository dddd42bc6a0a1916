// The read model of jobs, updated step by step. EngineWorld compares it with the rows after every
// step; these tests cover what that does not show.

#include "scheduler/listing/listing.hpp"

#include <gtest/gtest.h>

#include "scheduler/base/archive.hpp"
#include "scheduler/engine/view_parts.hpp"
#include "scheduler/engine/views.hpp"
#include "scheduler/plan/estimate/start_forecast.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

Policy with_queues() {
    Policy policy;
    PoolPolicy& pool = policy.pools.emplace_back();
    pool.name = kDefaultPool;
    QueuePolicy first;
    first.name = "first";
    first.priority = 5;
    QueuePolicy second;
    second.name = "second";
    second.order = QueueOrder::priority;
    pool.queues = {first, second};
    return policy;
}

// Eight GPUs in use, and this many jobs of several kinds that wait for them.
void fill(EngineWorld& world, int waiting) {
    world.set(with_queues());
    world.add(node("a", 8));
    for (int i = 0; i < 4; ++i) {
        PodFacts runs = pod("runs-" + std::to_string(i), "", 2);
        runs.run_time_max = Duration::seconds(100 * (i + 1));
        world.add(runs);
    }
    world.run();
    for (int i = 0; i < waiting; ++i) {
        world.now = world.now + Duration{10};
        PodFacts waits = pod("waits-" + std::to_string(i), "", 1 + i % 3);
        waits.key.namespace_name = "team-" + std::to_string(i % 3);
        waits.queue = i % 3 == 0 ? "first" : i % 3 == 1 ? "second" : "";
        waits.priority = 100 * (i % 4);
        waits.created_at = world.now;
        if (i % 2 == 0) waits.run_time_max = Duration::seconds(60);
        world.add(waits);
    }
    world.plan();
}

std::map<JobId, StartEstimate> starts_at_once(const ClusterState& state) {
    return view_parts::starts(state, view_parts::positions(state));
}

TEST(Listing, a_job_is_found_by_index_as_by_a_search_of_all) {
    EngineWorld world;
    fill(world, 6);
    PodFacts twin = pod("waits-1", "", 1);
    twin.uid = "twin";
    world.add(twin);
    world.add(gang("train", 2, 1));
    Listing& listing = world.engine.listing();
    const ClusterState& state = world.engine.state();
    for (const char* space : {"", "team-a", "team-1", "nowhere"}) {
        for (const char* name : {"waits-1", "waits-0", "pod:waits-1", "train", "train-1",
                                 "gpuctl:train", "runs-0", "unknown"}) {
            SCOPED_TRACE(std::string{space} + "/" + name);
            const Result<JobView> by_index = find_job(listing, space, name);
            const Result<JobView> by_hand = find_job(state, space, name);
            ASSERT_EQ(by_index.has_value(), by_hand.has_value());
            if (!by_hand) {
                EXPECT_EQ(by_index.error().message, by_hand.error().message);
                EXPECT_EQ(by_index.error().details.size(), by_hand.error().details.size());
                continue;
            }
            EXPECT_EQ(by_index->key, by_hand->key);
            EXPECT_EQ(by_index->position, by_hand->position);
            EXPECT_EQ(to_archive(by_index->waiting), to_archive(by_hand->waiting));
        }
    }
}

TEST(Listing, the_reason_of_a_row_is_the_first_of_its_explanation) {
    EngineWorld world;
    fill(world, 9);
    world.add(gang("half", 3, 1).front());
    world.run();
    Listing& listing = world.engine.listing();
    for (const JobView& job : list_jobs(world.engine.state(), {})) {
        const JobEntry& entry = *listing.index().find(world.engine.state().jobs.find_job(job.key));
        const Reason expected = job.waiting ? job.waiting->reason : Reason::none;
        EXPECT_EQ(to_string(listing.reason_of(entry)), to_string(expected)) << job.key.name;
    }
}

TEST(Listing, a_reason_is_computed_again_when_the_state_has_changed) {
    EngineWorld world;
    world.add(node("a", 1));
    world.add(pod("large", "", 2));
    world.run();
    const auto reason = [&] {
        const JobId id = world.engine.state().jobs.find_job({"team-a", "pod:large"});
        return world.engine.listing().reason_of(*world.engine.listing().index().find(id));
    };
    EXPECT_EQ(reason(), Reason::never_fits);
    world.add(node("b", 4));
    world.add(pod("holds", "", 4));
    world.pods.at("holds").node = "b";
    world.show("holds");
    EXPECT_EQ(reason(), Reason::gpu_insufficient);
}

TEST(Listing, waiting_jobs_are_counted_by_reason) {
    EngineWorld world;
    fill(world, 9);
    const auto count = [&](Reason reason) {
        return world.engine.listing().waiting_by_reason()[static_cast<std::size_t>(reason)];
    };
    EXPECT_EQ(count(Reason::gpu_insufficient) + count(Reason::reserved), 9);
    world.add(gang("half", 3, 1).front());
    world.run();
    EXPECT_EQ(count(Reason::gang_incomplete), 1);
    world.send(LeadershipChanged{false, Epoch{1}});
    EXPECT_EQ(count(Reason::not_leader), 10);
    EXPECT_EQ(count(Reason::gang_incomplete), 0);
}

TEST(StartBoard, a_forecast_in_pieces_equals_one_at_once) {
    EngineWorld world;
    fill(world, 60);
    const ClusterState& state = world.engine.state();
    const PoolId pool = state.tree.find_pool(kDefaultPool);
    const auto positions = view_parts::positions(state);
    std::vector<JobId> line;
    for (const auto& [job, place] : positions) line.push_back(job);
    StartForecast whole{state, pool, line};
    EXPECT_TRUE(whole.advance(state, 1'000'000));
    StartForecast pieces{state, pool, line};
    int steps = 1;
    while (!pieces.advance(state, 3)) ++steps;
    EXPECT_GT(steps, 20);
    ASSERT_EQ(pieces.answers().size(), whole.answers().size());
    ASSERT_FALSE(whole.answers().empty());
    for (std::size_t i = 0; i < whole.answers().size(); ++i) {
        EXPECT_EQ(pieces.answers()[i].job, whole.answers()[i].job);
        EXPECT_EQ(pieces.answers()[i].start, whole.answers()[i].start);
    }
}

TEST(StartBoard, estimates_of_a_small_cluster_are_those_of_the_present_state) {
    EngineWorld world;
    fill(world, 30);
    const auto check = [&] {
        Listing& listing = world.engine.listing();
        listing.refresh_starts();
        EXPECT_FALSE(listing.has_work()) << "few jobs are computed at once";
        const auto right = starts_at_once(world.engine.state());
        ASSERT_FALSE(right.empty());
        for (const auto& [key, id] : world.engine.state().jobs.jobs_by_key()) {
            const auto known = right.find(id);
            const auto shown = listing.start_of(id);
            EXPECT_EQ(shown.has_value(), known != right.end()) << key.name;
            if (shown && known != right.end()) {
                EXPECT_EQ(*shown, known->second) << key.name;
            }
        }
    };
    check();
    world.now = world.now + Duration::seconds(5);
    world.pods.at("runs-1").phase = PodPhase::succeeded;
    world.show("runs-1");
    world.run();
    check();
}

// Between two pieces jobs may be removed, start, or replace another job in its row.
TEST(StartBoard, jobs_that_are_removed_while_estimates_are_computed_are_left_out) {
    EngineWorld world;
    fill(world, 40);
    const ClusterState& state = world.engine.state();
    std::vector<JobId> line;
    for (const auto& [job, place] : view_parts::positions(state)) line.push_back(job);
    StartForecast forecast{state, state.tree.find_pool(kDefaultPool), line};
    EXPECT_FALSE(forecast.advance(state, 40));
    for (int i = 0; i < 40; i += 2) world.remove_pod("waits-" + std::to_string(i));
    for (int i = 0; i < 10; ++i) world.add(pod("new-" + std::to_string(i), "", 1));
    while (!forecast.advance(state, 40)) world.plan();
    for (const StartForecast::Answer& answer : forecast.answers()) {
        EXPECT_EQ(state.job(answer.job).arrival, answer.arrival);
        EXPECT_TRUE(state.job(answer.job).waiting.in_class.exists());
    }
}

TEST(Allowance, spent_allowance_is_refilled_with_time) {
    Allowance allowance;
    Instant now{1'000};
    std::int64_t taken = 0;
    while (allowance.spend(1'000'000, now)) ++taken;
    EXPECT_EQ(taken, Allowance::kSavedMost / 1'000'000);
    EXPECT_FALSE(allowance.spend(1, now));
    now = now + Duration{100};
    EXPECT_TRUE(allowance.spend(1'000'000, now));
    EXPECT_TRUE(allowance.spend(1'000'000, now)) << "a fiftieth of 100 ms";
    EXPECT_FALSE(allowance.spend(1'000'000, now));
}

}  // namespace
}  // namespace gpuctl::test
