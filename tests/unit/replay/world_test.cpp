#include "sim/replay/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/reference/planners.hpp"
#include "sim/replay/metrics.hpp"

namespace gpuctl::replay {
namespace {

struct Ask {
    std::int64_t submit_s;
    std::int32_t gpus;
    std::int64_t run_s;
    std::int64_t limit_s = 0;
    std::int64_t cost_s = 0;
};

Trace world_trace_of(const std::vector<Ask>& asks) {
    Trace trace;
    for (const Ask& ask : asks) {
        TraceJob job;
        job.id = std::to_string(trace.jobs.size());
        job.submit = Duration::seconds(ask.submit_s);
        job.run = Duration::seconds(ask.run_s);
        job.limit = Duration::seconds(ask.limit_s);
        job.start_cost = job.restart_cost = Duration::seconds(ask.cost_s);
        job.gpus = ask.gpus;
        trace.jobs.push_back(job);
    }
    return trace;
}

WorldSettings pool_of(std::int32_t gpus, bool clairvoyant = false) {
    WorldSettings settings;
    settings.gpus_per_node = gpus;
    settings.clairvoyant = clairvoyant;
    return settings;
}

std::vector<double> ends_s(const Trace& trace, WorldSettings settings, Policy& policy) {
    World world(trace, settings);
    EXPECT_FALSE(world.run(policy));
    std::vector<double> ends;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
        ends.push_back(completion_times_s(world)[i] +
                       static_cast<double>(trace.jobs[i].submit.ms()) / 1000.0);
    }
    return ends;
}

TEST(Fifo, head_that_does_not_fit_blocks_all_behind_it) {
    const Trace trace = world_trace_of({{0, 3, 10}, {1, 2, 10}, {2, 1, 10}});
    EXPECT_THAT(ends_s(trace, pool_of(4), *reference::make_fifo()),
                testing::ElementsAre(10, 20, 20));
}

TEST(Srtf, shorter_job_preempts_and_the_preempted_one_pays_to_resume) {
    const Trace trace = world_trace_of({{0, 4, 100, 0, 5}, {10, 4, 20, 0, 5}});
    World world(trace, pool_of(4, true));
    ASSERT_FALSE(world.run(*reference::make_srtf()));
    // 5 to start, 5 of work, stopped from 10 to 35, 5 to resume, 95 of work.
    EXPECT_THAT(completion_times_s(world), testing::ElementsAre(135, 25));
    EXPECT_EQ(preemptions(world), 1);
    EXPECT_EQ(world.states()[0].starts, 2);
    EXPECT_EQ(world.states()[0].served_gpu_ms, (10 + 100) * 4 * 1000);
}

TEST(Srsf, counts_gpus_as_well_as_time) {
    const Trace trace = world_trace_of({{0, 4, 10}, {0, 1, 30}});
    EXPECT_THAT(ends_s(trace, pool_of(4, true), *reference::make_srtf()),
                testing::ElementsAre(10, 40));
    EXPECT_THAT(ends_s(trace, pool_of(4, true), *reference::make_srsf()),
                testing::ElementsAre(40, 30));
}

TEST(Tiresias, job_sinks_when_the_service_it_got_passes_a_threshold) {
    const Trace trace = world_trace_of({{0, 4, 100}, {5, 4, 8}});
    const auto policy = reference::make_tiresias({{40'000}});  // 10 s on four GPUs
    EXPECT_THAT(ends_s(trace, pool_of(4), *policy), testing::ElementsAre(108, 18));
}

TEST(Easy, backfills_only_what_does_not_delay_the_head) {
    // 0 runs until its limit 200 at most; 1 waits for it and leaves 20 GPUs spare.
    const std::vector<Ask> asks = {
        {0, 60, 100, 200}, {10, 80, 50, 50}, {20, 40, 30, 100}, {25, 30, 5, 400}, {26, 20, 9, 400}};
    // 2 ends before the reservation. 3 would not and asks for more than is spare; 4 fits the spare
    // once 2 is gone. 0 ends early at 100: then 1 starts, and 3 after it.
    EXPECT_THAT(ends_s(world_trace_of(asks), pool_of(100),
                       *reference::make_easy(reference::BackfillOrder::submitted)),
                testing::ElementsAre(100, 150, 50, 155, 59));
}

TEST(Easy, shortest_first_changes_which_job_is_backfilled) {
    const std::vector<Ask> asks = {
        {0, 60, 100, 100}, {1, 80, 10, 10}, {2, 40, 50, 60}, {2, 40, 5, 6}};
    EXPECT_THAT(ends_s(world_trace_of(asks), pool_of(100),
                       *reference::make_easy(reference::BackfillOrder::submitted)),
                testing::ElementsAre(100, 110, 52, 57));
    EXPECT_THAT(ends_s(world_trace_of(asks), pool_of(100),
                       *reference::make_easy(reference::BackfillOrder::shortest)),
                testing::ElementsAre(100, 110, 57, 7));
}

TEST(InRounds, decides_at_whole_multiples_only) {
    const Trace trace = world_trace_of({{1, 1, 10}, {61, 1, 10}});
    const auto policy = reference::make_in_rounds(reference::make_fifo(), Duration::seconds(60));
    EXPECT_THAT(ends_s(trace, pool_of(1), *policy), testing::ElementsAre(70, 130));
}

class Idle final : public Policy {
public:
    std::optional<Instant> decide(World&) override { return std::nullopt; }
};

TEST(World, says_which_job_a_policy_forgot_and_which_can_never_run) {
    const Trace trace = world_trace_of({{0, 1, 10}, {0, 9, 10}});
    Idle idle;
    World forgotten(trace, pool_of(16));
    const auto stuck = forgotten.run(idle);
    ASSERT_TRUE(stuck);
    EXPECT_EQ(stuck->message, "the policy leaves 2 jobs waiting for ever, the first of them 0");
    World small(trace, pool_of(8));
    const auto impossible = small.run(idle);
    ASSERT_TRUE(impossible);
    EXPECT_EQ(impossible->code, ErrorCode::NeverFits);
    EXPECT_EQ(impossible->message, "job 1 asks for 9 GPUs of 8; give the replay a larger cluster");
}

class Grower final : public Policy {
public:
    std::optional<Instant> decide(World& world) override {
        const JobIndex job{0};
        if (world.state(job).phase == JobPhase::waiting) {
            world.start(job, 1);
            return world.now() + Duration::seconds(50);
        }
        if (world.state(job).phase == JobPhase::running) {
            EXPECT_FALSE(world.resize(job, 4));  // there are two
            EXPECT_TRUE(world.resize(job, 2));
        }
        return std::nullopt;
    }
};

TEST(World, resize_pays_a_restart_and_keeps_the_progress) {
    Trace trace = world_trace_of({{0, 1, 100, 0, 10}});
    trace.curves.push_back({"net", {1, 2}, {{Duration{100'000}, Duration{50'000}}}});
    trace.jobs[0].curve = CurveIndex{0};
    WorldSettings settings = pool_of(2);
    settings.elastic = true;
    Grower grower;
    // 10 to start, 40 of 100 done; 10 again; the remaining 60 % take 30.
    EXPECT_THAT(ends_s(trace, settings, grower), testing::ElementsAre(90));
}

TEST(Metrics, bounded_slowdown_wait_and_fairness_by_hand) {
    const Trace trace = world_trace_of({{0, 2, 100}, {0, 2, 5}, {0, 2, 20}});
    World world(trace, pool_of(2));
    ASSERT_FALSE(world.run(*reference::make_fifo()));
    EXPECT_THAT(waits_s(world), testing::ElementsAre(0, 100, 105));
    EXPECT_THAT(bounded_slowdowns(world), testing::ElementsAre(1, 10.5, 6.25));
    EXPECT_THAT(queue_delays_s(world), testing::ElementsAre(0, 100, 105));
    // Three jobs share two GPUs: contention 1.5.
    EXPECT_THAT(finish_time_fairness(world),
                testing::ElementsAre(testing::DoubleEq(100 / 150.0), testing::DoubleEq(105 / 7.5),
                                     testing::DoubleEq(125 / 30.0)));
    EXPECT_EQ(makespan_s(world), 125);
}

TEST(Metrics, percentile_is_the_value_at_that_share_of_the_sorted_ones) {
    EXPECT_EQ(percentile({}, 99), 0);
    EXPECT_EQ(percentile({3, 1, 2}, 50), 2);
    std::vector<double> hundred(100);
    for (std::size_t i = 0; i < 100; ++i) hundred[i] = static_cast<double>(100 - i);
    EXPECT_EQ(percentile(hundred, 99), 100);
    EXPECT_EQ(percentile(hundred, 98), 99);
}

TEST(Guarantee, broken_when_an_owner_within_its_quota_waits_longer_than_the_grace) {
    Trace trace = world_trace_of({{0, 4, 500}, {10, 4, 10}, {20, 4, 10}});
    trace.owners = {{"guest", 0}, {"owner", 4}};
    trace.jobs[0].owner = OwnerIndex{0};
    trace.jobs[1].owner = trace.jobs[2].owner = OwnerIndex{1};
    World world(trace, pool_of(4));
    ASSERT_FALSE(world.run(*reference::make_fifo()));
    // 1 waits within the quota only from 10 to 20, then the owner asks for 8 of its 4; 2 is alone
    // from 510, when it starts at once. The job without an owner has no quota.
    EXPECT_EQ(guarantee_violations(world, Duration::seconds(60)), 0);
    EXPECT_EQ(guarantee_violations(world, Duration::seconds(9)), 1);
    trace.owners[1].quota_gpus = 8;
    EXPECT_EQ(guarantee_violations(world, Duration::seconds(60)), 2);
}

// Starts its first job on given nodes, then checks what else the world allows.
class OnGivenNodes final : public Policy {
public:
    std::optional<Instant> decide(World& world) override {
        if (world.state(JobIndex{0}).phase != JobPhase::waiting) return std::nullopt;
        EXPECT_FALSE(world.start_on(JobIndex{0}, {0, 3, {0}})) << "one node twice";
        EXPECT_FALSE(world.start_on(JobIndex{0}, {2, 3, {0}})) << "there is no node 2";
        EXPECT_EQ(world.gpus_free(), 8) << "a refused start takes nothing";
        EXPECT_TRUE(world.start_on(JobIndex{0}, {1, 3, {0}}));
        EXPECT_EQ(world.gpus_free_on(0), 0);
        EXPECT_EQ(world.gpus_free_on(1), 1);
        EXPECT_FALSE(world.start_on(JobIndex{1}, {0, 1, {}})) << "node 0 is taken";
        EXPECT_FALSE(world.start_on(JobIndex{1}, {1, 2, {}})) << "node 1 has one left";
        EXPECT_TRUE(world.start_on(JobIndex{1}, {1, 1, {}}));
        return std::nullopt;
    }
};

TEST(World, start_on_given_nodes_takes_these_and_no_others) {
    const Trace trace = world_trace_of({{0, 7, 10}, {0, 1, 20}});
    WorldSettings settings;
    settings.nodes = 2;
    settings.gpus_per_node = 4;
    settings.placing = Placing::packed;
    OnGivenNodes policy;
    EXPECT_THAT(ends_s(trace, settings, policy), testing::ElementsAre(10, 20));
}

}  // namespace
}  // namespace gpuctl::replay
