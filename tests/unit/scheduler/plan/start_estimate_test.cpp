#include "scheduler/plan/estimate/start_estimate.hpp"

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class StartEstimates : public testing::Test {
protected:
    void SetUp() override { world.add(node("a", 8)); }
    void submit(const std::string& name, std::int64_t gpus, std::int64_t limit_s) {
        world.now = world.now + Duration{1};
        PodFacts one = pod(name, name, gpus);
        one.run_time_max = Duration::seconds(limit_s);
        one.created_at = world.now;
        world.add(one);
        world.run();
    }
    void finish(const std::string& name, std::int64_t after_s) {
        world.now = world.now + Duration::seconds(after_s);
        world.pods.at(name).phase = PodPhase::succeeded;
        world.show(name);
        world.remove_pod(name);
        world.run();
    }
    StartEstimate of(const std::string& name) {
        return find_job(world.engine.state(), "team-a", name)->start.value_or(StartEstimate{});
    }
    [[nodiscard]] Instant in(std::int64_t seconds) const {
        return world.now + Duration::seconds(seconds);
    }
    EngineWorld world;
};

TEST_F(StartEstimates, latest_follows_from_the_limits_of_the_jobs_ahead) {
    submit("runs", 8, 100);
    submit("next", 8, 50);
    submit("then", 8, 10);
    const Instant begin =
        world.engine.state().pod(world.engine.state().pods.find_pod("runs")).bind.placed_at;
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(100));
    EXPECT_EQ(of("next").latest, world.engine.state()
                                     .pool(world.engine.state().tree.find_pool(kDefaultPool))
                                     .reservations.head.at);
    EXPECT_EQ(of("then").latest, begin + Duration::seconds(150));
    EXPECT_EQ(of("then").likely, begin + Duration::seconds(150)) << "nothing but limits is known";
    EXPECT_EQ(of("then").earliest, world.now) << "any job may end at any time";
    EXPECT_EQ(find_job(world.engine.state(), "team-a", "runs")->start, std::nullopt) << "it runs";
    EXPECT_FALSE(of("next").may_be_passed) << "it has a reservation";
    EXPECT_TRUE(of("then").may_be_passed);
}

// Regression: the job was estimated to start after the gang, in ten hours; it started in 20 s.
TEST_F(StartEstimates, a_job_that_ends_before_the_reservation_is_estimated_to_pass) {
    submit("long", 4, 36'000);
    submit("short", 4, 20);
    submit("wide", 8, 100);
    submit("passes", 4, 3'600);
    submit("behind", 4, 3'600);
    submit("stays", 4, 0);
    const Instant begin =
        world.engine.state().pod(world.engine.state().pods.find_pod("short")).bind.placed_at;
    EXPECT_EQ(of("passes").likely, begin + Duration::seconds(20));
    EXPECT_EQ(of("behind").likely, begin + Duration::seconds(3'620)) << "after the job before it";
    EXPECT_GE(of("stays").likely, of("wide").likely) << "it may run for ever";
}

TEST_F(StartEstimates, a_job_that_max_jobs_stops_starts_when_enough_jobs_have_ended) {
    QueuePolicy queue;
    queue.name = kDefaultQueue;
    queue.jobs_maximum = 2;
    Policy policy;
    policy.pools.push_back({kDefaultPool, "", {}, {}});
    policy.pools.front().queues = {queue};
    world.set(policy);
    submit("a", 1, 100);
    submit("b", 1, 300);
    submit("third", 1, 0);
    const Instant begin =
        world.engine.state().pod(world.engine.state().pods.find_pod("a")).bind.placed_at;
    EXPECT_EQ(of("third").likely, begin + Duration::seconds(100));
    EXPECT_EQ(of("third").earliest, world.now);
    EXPECT_EQ(of("third").latest, Instant{}) << "other jobs may start before it";
}

// Regression: the forecast does not know limits of GPU models, and looked up the row of no limit:
// the row before the table of limits.
TEST_F(StartEstimates, there_is_none_for_a_job_that_the_limit_of_a_model_stops) {
    QueuePolicy queue;
    queue.name = kDefaultQueue;
    queue.models = {{"A100", GpuMilli{}, whole_gpus(2)}};
    Policy policy;
    policy.pools.push_back({kDefaultPool, "", {}, {}});
    policy.pools.front().queues = {queue};
    world.set(policy);
    submit("runs", 2, 100);
    submit("next", 2, 100);
    ASSERT_EQ(world.why("next").front().reason, Reason::queue_limit);
    EXPECT_EQ(of("next"), StartEstimate{});
}

// Regression: the estimate was 3 s again and again, while small jobs used what became free.
TEST_F(StartEstimates, a_job_without_reservation_that_needs_several_ends_may_be_passed) {
    for (int i = 0; i < 8; ++i) submit("runs-" + std::to_string(i), 1, 0);
    submit("large", 8, 0);
    submit("small", 1, 0);
    EXPECT_TRUE(of("large").may_be_passed);
    EXPECT_FALSE(of("small").may_be_passed) << "the next GPU is enough";
}

TEST_F(StartEstimates, latest_is_unknown_behind_work_without_limit_or_history) {
    submit("runs", 8, 0);
    submit("next", 8, 50);
    EXPECT_FALSE(of("next").latest.happened());
    EXPECT_FALSE(of("next").likely.happened());
    EXPECT_EQ(of("next").earliest, world.now);
}

TEST_F(StartEstimates, history_narrows_the_band) {
    for (int i = 0; i < 20; ++i) {
        submit("past", 8, 1'000);
        finish("past", 100 + i);
    }
    submit("runs", 8, 1'000);
    submit("next", 8, 1'000);
    const Instant begin =
        world.engine.state().pod(world.engine.state().pods.find_pod("runs")).bind.placed_at;
    EXPECT_EQ(of("next").earliest, begin + Duration::seconds(101))
        << "one in ten has ended by then";
    EXPECT_EQ(of("next").likely, begin + Duration::seconds(109)) << "the median";
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(1'000)) << "the limit";
    world.now = begin + Duration::seconds(300);
    world.send(WokeUp{});
    EXPECT_EQ(of("next").likely, in(300)) << "it is older than all past runs: as long again";
    EXPECT_EQ(of("next").latest, begin + Duration::seconds(1'000));
}

TEST_F(StartEstimates, a_job_that_a_limit_stops_starts_when_a_job_under_the_limit_ends) {
    Policy policy;
    PoolPolicy& pool = policy.pools.emplace_back();
    pool.name = kDefaultPool;
    pool.queues.resize(1);
    pool.queues[0].name = kDefaultQueue;
    pool.queues[0].maximum = whole_gpus(4);
    world.set(policy);
    submit("runs", 4, 100);
    submit("next", 4, 50);
    const Instant begin =
        world.engine.state().pod(world.engine.state().pods.find_pod("runs")).bind.placed_at;
    EXPECT_EQ(of("next").likely, begin + Duration::seconds(100)) << "4 of 8 GPUs are free";
    EXPECT_FALSE(of("next").latest.happened()) << "another job of the queue may start before it";
}

// GPUs of the default queue times seconds, in each hour from that time on.
BudgetPolicy budget_of(std::int64_t gpu_seconds, Instant anchor) {
    return {gpu_time(whole_gpus(gpu_seconds), Duration::seconds(1)),
            Duration::seconds(3600),
            anchor,
            {}};
}

Policy with_budget(const BudgetPolicy& budget) {
    Policy policy;
    PoolPolicy& pool = policy.pools.emplace_back();
    pool.name = kDefaultPool;
    pool.queues.resize(1);
    pool.queues[0].name = kDefaultQueue;
    pool.queues[0].budget = budget;
    return policy;
}

// Regression: the latest start was in 16 s; the period that begins before has no room for it.
TEST_F(StartEstimates, a_job_that_the_next_period_of_a_budget_does_not_admit_has_no_reservation) {
    const Instant boundary = in(12);
    world.set(with_budget(budget_of(8 * 45, boundary)));
    submit("runs", 8, 16);
    submit("next", 8, 60);
    const ClusterState& state = world.engine.state();
    EXPECT_FALSE(state.pool(state.tree.find_pool(kDefaultPool)).reservations.head.job.exists());
    const Instant ends =
        state.pod(state.pods.find_pod("runs")).bind.placed_at + Duration::seconds(16);
    const Duration used = ends - boundary;
    const Instant fits = boundary + Duration::seconds(3600 - 45) + used;
    EXPECT_EQ(of("next").likely, fits);
    EXPECT_EQ(of("next").latest, fits);
    EXPECT_EQ(of("next").earliest, world.now)
        << "if the running job ended, it would start in this period";
}

// Regression: the estimate was the end of the period.
TEST_F(StartEstimates, overdrawn_time_is_repaid_over_as_many_periods_as_needed) {
    const Instant boundary = in(200);
    world.set(with_budget(budget_of(80'000, boundary)));
    submit("runs", 8, 0);
    finish("runs", 100);
    world.set(with_budget(budget_of(80, boundary)));
    submit("next", 1, 30);
    // 800 were used: ten periods repay 80 each, including this one.
    EXPECT_EQ(of("next").earliest, boundary + Duration::seconds(3600 * 9));
    EXPECT_EQ(of("next").likely, of("next").earliest);
    submit("more", 1, 90);
    EXPECT_EQ(of("more").earliest, boundary + Duration::seconds(3600 * 10 - 80))
        << "it needs more than a period has: it starts when 80 s are left";
}

TEST_F(StartEstimates, there_is_none_for_a_job_that_no_end_of_a_gpu_job_helps) {
    PodFacts thirsty = pod("thirsty", "thirsty", 1);
    thirsty.request.cpu = CpuMilli{60'000};
    thirsty.run_time_max = Duration::seconds(100);
    world.add(thirsty);
    PodFacts short_of_cpu = thirsty;
    short_of_cpu.uid = short_of_cpu.key.name = short_of_cpu.job = "short-of-cpu";
    world.add(short_of_cpu);
    PodFacts too_large = pod("too-large", "too-large", 9);
    world.add(too_large);
    world.run();
    for (const char* name : {"short-of-cpu", "too-large"}) {
        EXPECT_EQ(find_job(world.engine.state(), "team-a", name)->start, std::nullopt) << name;
    }
    submit("runs", 6, 100);
    submit("next", 8, 50);
    EXPECT_TRUE(of("next").latest.happened()) << "a job that can never start blocks no other job";
}

TEST_F(StartEstimates, a_job_that_finds_no_node_is_not_estimated_to_start_now) {
    world.add(node("b", 8));
    submit("half-a", 5, 100);
    submit("half-b", 5, 200);
    submit("next", 6, 50);  // 6 GPUs are free, 3 on each node
    EXPECT_FALSE(of("next").likely.happened() && of("next").likely <= world.now);
    EXPECT_GT(of("next").latest, world.now) << "it has a reservation";
}

// Regression: three GPUs of a node with two were estimated to become free.
TEST_F(StartEstimates, gpus_in_use_beyond_the_capacity_of_a_smaller_node_do_not_become_free) {
    submit("one", 4, 100);
    submit("two", 4, 200);
    submit("small", 3, 50);
    submit("large", 5, 50);
    EXPECT_EQ(of("small").latest, in(100) + Duration{-3});
    world.add(node("a", 4));
    world.run();
    EXPECT_EQ(of("small").latest, in(200) + Duration{-2})
        << "the first four GPUs become free beyond the new capacity";
    EXPECT_FALSE(of("large").likely.happened());
}

TEST_F(StartEstimates, respect_maintenance_windows) {
    const auto window = [&](const char* name, std::int64_t begin_s, std::int64_t length_s) {
        MaintenanceWindow out;
        out.name = name;
        out.nodes = {"a"};
        out.begin = in(begin_s);
        out.length = Duration::seconds(length_s);
        out.drain = Drain::none;
        return out;
    };
    Policy policy;
    policy.windows = {window("now", 0, 100), window("later", 200, 100)};
    world.set(policy);
    const Instant begin = world.now;
    submit("short", 8, 50);
    submit("long", 8, 150);
    const Instant after_first = begin + Duration::seconds(100);
    const Instant after_second = begin + Duration::seconds(300);
    EXPECT_EQ(of("short").earliest, after_first) << "the node opens";
    EXPECT_EQ(of("short").latest, after_first);
    EXPECT_EQ(of("long").earliest, after_second) << "it would not end before the second window";
    EXPECT_EQ(of("long").latest, after_second);
    world.add(node("b", 4));  // this helps neither of them
    world.run();
    EXPECT_EQ(of("short").latest, after_first);
    EXPECT_EQ(of("long").latest, after_second);
}

TEST_F(StartEstimates, survive_a_restart) {
    for (int i = 0; i < 20; ++i) {
        submit("past", 8, 1'000);
        finish("past", 100 + i);
    }
    submit("runs", 8, 1'000);
    submit("next", 8, 1'000);
    const StartEstimate before = of("next");
    Result<Engine> restored = Engine::import_state(world.engine.export_state());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->state_hash(), world.engine.state_hash());
    world.engine = std::move(*restored);
    EXPECT_EQ(of("next"), before);
}

}  // namespace
}  // namespace gpuctl::test
