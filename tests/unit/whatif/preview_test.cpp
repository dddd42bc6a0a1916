// The past under another policy.

#include "scheduler/whatif/preview.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_world.hpp"

namespace gpuctl::whatif {
namespace {

constexpr std::int64_t kStart = 1'000'000;

// A past written by hand: submissions, starts and ends. Times are in seconds.
class Past {
public:
    Past() {
        put(0, CacheSynced{});
        put(0, LeadershipChanged{true, Epoch{1}});
        put(0, NodeObserved{test::node("a", 8)});
    }
    void put(std::int64_t at, Event event) { events_.push_back({at, std::move(event)}); }
    PodFacts submit(std::int64_t at, const std::string& name, std::int64_t gpus,
                    const std::string& queue) {
        PodFacts pod = test::pod(name, name, gpus);
        pod.queue = queue;
        pod.created_at = instant(at);
        put(at, PodObserved{pod});
        return pod;
    }
    void runs(PodFacts pod, std::int64_t from, std::int64_t to) {
        pod.node = "a";
        pod.phase = PodPhase::running;
        pod.started_at = instant(from);
        put(from, PodObserved{pod});
        pod.phase = PodPhase::succeeded;
        pod.finished_at = instant(to);
        put(to, PodObserved{pod});
    }
    [[nodiscard]] PastWindow since(std::int64_t at, std::int64_t until = 0) {
        std::stable_sort(events_.begin(), events_.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        PastCollector collector{Engine{}, instant(at)};
        std::uint64_t sequence = 0;
        for (const auto& [when, event] : events_) {
            ++sequence;
            collector.add_input(Input{Sequence{sequence}, instant(when), sequence, event});
        }
        return std::move(collector).finish(instant(until));
    }
    static Instant instant(std::int64_t seconds) { return Instant{kStart + 1'000 * seconds}; }

private:
    std::vector<std::pair<std::int64_t, Event>> events_;
};

Policy queues(std::int32_t priority_of_high) {
    Policy policy;
    PoolPolicy& pool = policy.pools.emplace_back();
    pool.name = kDefaultPool;
    pool.order = QueueOrder::priority;
    pool.queues.resize(2);
    pool.queues[0].name = "low";
    pool.queues[1].name = "high";
    pool.queues[1].priority = priority_of_high;
    return policy;
}

// Two jobs of the whole node behind a running job; the first of them is in queue `low`.
Past two_wait_for_one() {
    Past past;
    past.put(0, PolicyChanged{queues(0)});
    past.runs(past.submit(0, "runs", 8, "low"), 0, 100);
    past.runs(past.submit(10, "first", 8, "low"), 100, 200);
    past.runs(past.submit(20, "second", 8, "high"), 200, 300);
    past.put(400, Plan{});
    return past;
}

Preview preview_of(const PastWindow& past, const Policy& policy) {
    const Result<Preview> found = preview(past, policy);
    EXPECT_TRUE(found.has_value());
    return found ? *found : Preview{};
}

// Of two waits the 95th percentile is the longer one.
TEST(Preview, a_deleted_job_waited_until_its_deletion) {
    Past past;
    past.put(0, PolicyChanged{queues(0)});
    past.runs(past.submit(0, "runs", 8, "low"), 0, 300);
    past.submit(10, "deleted", 8, "low");
    past.put(30, PodRemoved{"deleted"});
    past.runs(past.submit(290, "next", 8, "low"), 300, 350);
    past.put(400, Plan{});
    const Preview result = preview_of(past.since(5), queues(10));
    EXPECT_EQ(result.all.jobs, 2);
    EXPECT_EQ(result.all.before.not_started, 1);
    EXPECT_EQ(result.all.before.mean, Duration::seconds(15));
    EXPECT_EQ(result.all.before.p95, Duration::seconds(20));
    EXPECT_EQ(result.wait_mean_in_fact, Duration::seconds(15));
}

// Regression: a job that had waited for nine minutes was shown with five, because nothing had
// happened since.
TEST(Preview, the_wait_of_a_job_extends_to_now_without_events) {
    Past past;
    past.put(0, PolicyChanged{queues(0)});
    past.submit(10, "waits", 16, "low");
    EXPECT_EQ(preview_of(past.since(5, 1'010), queues(10)).all.before.mean,
              Duration::seconds(1'000));
    // The whole window was silent.
    const PastWindow silent = past.since(500, 1'010);
    EXPECT_FALSE(silent.exported.empty());
    EXPECT_EQ(silent.end, Past::instant(1'010));
}

TEST(Preview, lists_the_jobs_that_gain_and_lose_when_a_queue_gets_priority) {
    const Preview result = preview_of(two_wait_for_one().since(5), queues(10));
    EXPECT_EQ(result.all.jobs, 2);
    EXPECT_EQ(result.all.before.mean, Duration::seconds((90 + 180) / 2));
    EXPECT_EQ(result.all.after.mean, Duration::seconds((190 + 80) / 2));
    EXPECT_EQ(result.wait_mean_in_fact, result.all.before.mean);
    ASSERT_EQ(result.gain.size(), 1u);
    EXPECT_EQ(result.gain[0].key.name, "second");
    EXPECT_EQ(result.gain[0].wait_before, Duration::seconds(180));
    EXPECT_EQ(result.gain[0].wait_after, Duration::seconds(80));
    ASSERT_EQ(result.lose.size(), 1u);
    EXPECT_EQ(result.lose[0].key.name, "first");
    EXPECT_EQ(result.lose[0].wait_after, Duration::seconds(190));
    EXPECT_EQ(result.jobs_gain, 1);
    EXPECT_EQ(result.jobs_lose, 1);
}

TEST(Preview, the_same_policy_changes_nothing_and_does_the_same_work) {
    Past past = two_wait_for_one();
    const Preview result = preview_of(past.since(5), queues(0));
    EXPECT_TRUE(result.gain.empty() && result.lose.empty());
    EXPECT_EQ(result.all.before.mean, result.all.after.mean);
    // 95 s of the first from the window's beginning on, 100 s each of the others.
    EXPECT_EQ(result.all.before.gpu_ms, 8 * 295'000);
    EXPECT_EQ(result.all.after.gpu_ms, result.all.before.gpu_ms);
}

TEST(Preview, a_job_that_a_new_limit_stops_is_shown_as_not_started) {
    Policy policy = queues(0);
    TenantPolicy& tenant = policy.tenants.emplace_back();
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(4);
    const Preview result = preview_of(two_wait_for_one().since(5), policy);
    EXPECT_EQ(result.all.before.not_started, 0);
    EXPECT_EQ(result.all.after.not_started, 2);
    EXPECT_EQ(result.all.after.mean, Duration::seconds((390 + 380) / 2)) << "so far";
    ASSERT_EQ(result.tenants.size(), 1u);
    EXPECT_EQ(result.tenants[0].after.not_started, 2);
}

TEST(Preview, an_unknown_run_time_is_predicted_from_other_jobs_of_the_namespace) {
    Past past;
    past.runs(past.submit(0, "runs", 8, ""), 0, 100);
    past.runs(past.submit(10, "first", 8, ""), 100, 200);
    past.submit(20, "never-started", 8, "");
    past.submit(30, "behind", 8, "");
    past.put(1'000, Plan{});
    const Preview result = preview_of(past.since(5), Policy{});
    EXPECT_EQ(result.jobs_run_time_guessed, 2);
    EXPECT_EQ(result.all.before.not_started, 0);
    // It starts at 200 s, takes 100 s as a similar job did, and the last job starts at 300 s.
    EXPECT_EQ(result.all.before.p95, Duration::seconds(270));
    EXPECT_EQ(result.all.before.mean.ms(), (90'000 + 180'000 + 270'000) / 3);
}

// A job of low priority on the whole node; a new job preempts it at 50 s, and it runs again from
// 80 s.
Past one_is_preempted_for_another(Duration checkpoint_interval) {
    Past past;
    PodFacts longer = test::pod("long-1", "long", 8);
    longer.created_at = Past::instant(0);
    longer.rank = 0;
    longer.has_controller = longer.preemptible = true;
    longer.checkpoint_interval = checkpoint_interval;
    past.put(0, PodObserved{longer});
    PodFacts running = longer;
    running.node = "a";
    running.phase = PodPhase::running;
    running.started_at = Past::instant(10);
    past.put(10, PodObserved{running});
    PodFacts urgent = test::pod("urgent", "urgent", 8);
    urgent.created_at = Past::instant(50);
    urgent.priority = longer.priority + 1'000;
    past.put(50, PodObserved{urgent});
    past.put(50, Plan{});
    past.put(50, PodRemoved{longer.uid});
    PodFacts again = longer;
    again.uid += "-again";
    again.key.name = "long-2";
    again.created_at = Past::instant(51);
    past.put(51, PodObserved{again});
    past.runs(urgent, 51, 80);
    past.runs(again, 80, 180);
    past.put(300, Plan{});
    return past;
}

TEST(Preview, a_job_that_was_evicted_and_recreated_is_submitted_once) {
    const Preview result = preview_of(one_is_preempted_for_another(Duration{}).since(5), Policy{});
    EXPECT_EQ(result.all.jobs, 2);
    EXPECT_EQ(result.all.before.mean, result.all.after.mean);
    // Lost work, because it starts at once here; the other job; all of it again.
    EXPECT_EQ(result.all.before.gpu_ms, (45 + 29 + 100) * 1'000 * 8);
}

// Regression: a controller created the replacement while the old pod was terminating, so the pod
// was submitted twice, and the second one blocked every other job.
TEST(Preview, a_job_that_was_recreated_before_its_old_pod_was_gone_is_submitted_once) {
    Past past;
    PodFacts longer = test::pod("long-1", "long", 8);
    longer.created_at = Past::instant(0);
    longer.rank = 0;
    longer.preemptible = true;
    past.put(0, PodObserved{longer});
    PodFacts running = longer;
    running.node = "a";
    running.phase = PodPhase::running;
    running.started_at = Past::instant(10);
    past.put(10, PodObserved{running});
    PodFacts urgent = test::pod("urgent", "urgent", 8);
    urgent.created_at = Past::instant(50);
    urgent.priority = longer.priority + 1'000;
    past.put(50, PodObserved{urgent});
    past.put(50, Plan{});
    running.terminating = true;
    past.put(50, PodObserved{running});
    PodFacts again = longer;
    again.uid += "-again";
    again.key.name = "long-2";
    again.created_at = Past::instant(51);
    past.put(51, PodObserved{again});
    past.put(52, PodObserved{running});
    past.put(53, PodRemoved{running.uid});
    past.runs(urgent, 53, 82);
    past.runs(again, 82, 182);
    past.put(300, Plan{});
    const Preview result = preview_of(past.since(5), Policy{});
    EXPECT_EQ(result.all.jobs, 2);
    EXPECT_EQ(result.all.before.not_started, 0);
    EXPECT_EQ(result.not_started_in_fact, 0);
    EXPECT_EQ(result.all.before.gpu_ms, (45 + 29 + 100) * 1'000 * 8);
}

// A disruption budget protected the pod, and twenty seconds later its user deleted it: it had run
// for a minute.
TEST(Preview, a_pod_whose_eviction_was_refused_does_not_count_as_evicted) {
    Past past;
    PodFacts longer = test::pod("long-1", "long", 8);
    longer.created_at = Past::instant(0);
    longer.preemptible = true;
    past.put(0, PodObserved{longer});
    longer.node = "a";
    longer.phase = PodPhase::running;
    longer.started_at = Past::instant(10);
    past.put(10, PodObserved{longer});
    PodFacts urgent = test::pod("urgent", "urgent", 8);
    urgent.created_at = Past::instant(50);
    urgent.priority = longer.priority + 1'000;
    past.put(50, PodObserved{urgent});
    past.put(50, Plan{});
    past.put(50, PodEvictOutcome{EffectId{1}, longer.uid, EvictResult::disruption_budget, ""});
    past.put(70, PodRemoved{longer.uid});
    const PastWindow window = past.since(5);
    ASSERT_EQ(window.pods[0].facts.uid, longer.uid);
    EXPECT_EQ(window.pods[0].ran, Duration::seconds(60));
    EXPECT_EQ(window.pods[0].ended_as, PodPhase::failed);
}

TEST(Preview, lists_removed_queues_and_their_number_of_jobs) {
    Policy without_low = queues(0);
    without_low.pools.front().queues.erase(without_low.pools.front().queues.begin());
    const Preview result = preview_of(two_wait_for_one().since(5), without_low);
    ASSERT_EQ(result.gone.size(), 1u);
    EXPECT_EQ(result.gone[0].queue, std::string{kDefaultPool} + "/low");
    EXPECT_EQ(result.gone[0].jobs, 2) << "one of them ran when it began";
    EXPECT_EQ(result.gone[0].reason, Reason::queue_unknown);
    EXPECT_TRUE(result.gone[0].is_pool_declared);
    Policy mistyped = queues(0);
    mistyped.pools.front().name = "defualt";
    const Preview all_gone = preview_of(two_wait_for_one().since(5), mistyped);
    ASSERT_EQ(all_gone.gone.size(), 2u);
    EXPECT_FALSE(all_gone.gone[0].is_pool_declared);
    EXPECT_TRUE(preview_of(two_wait_for_one().since(5), queues(10)).gone.empty());
    Policy divided = queues(0);
    divided.pools.front().queues.push_back({"below", 0, 1, {}, {}, "low"});
    const Preview below = preview_of(two_wait_for_one().since(5), divided);
    ASSERT_EQ(below.gone.size(), 1u);
    EXPECT_EQ(below.gone[0].reason, Reason::queue_holds_queues);
}

TEST(Preview, work_before_the_last_checkpoint_is_not_repeated) {
    const Preview result =
        preview_of(one_is_preempted_for_another(Duration::seconds(15)).since(5), Policy{});
    // In fact it had done 30 s when it was preempted, so it needs 130 s; here 45 s.
    EXPECT_EQ(result.all.before.gpu_ms, (45 + 29 + 85) * 1'000 * 8);
    Policy no_evictions;
    no_evictions.evictions_per_job_per_hour = 0;
    const Preview undisturbed =
        preview_of(one_is_preempted_for_another(Duration::seconds(15)).since(5), no_evictions);
    EXPECT_EQ(undisturbed.all.after.gpu_ms, (130 + 29) * 1'000 * 8);
}

TEST(Preview, parts_of_gpus_count) {
    Past past;
    PodFacts part = test::pod("part", "part", 1);
    part.request.gpus[0].amount = GpuMilli{500};
    part.created_at = Past::instant(10);
    past.put(10, PodObserved{part});
    past.runs(part, 10, 110);
    past.put(200, Plan{});
    EXPECT_EQ(preview_of(past.since(5), Policy{}).all.before.gpu_ms, 50'000);
}

TEST(Preview, changes_of_nodes_and_deletions_by_users_are_replayed) {
    Past past;
    past.put(50, NodeRemoved{"a"});
    past.put(80, NodeObserved{test::node("a", 8)});
    past.runs(past.submit(60, "waits-for-the-node", 8, ""), 80, 90);
    PodFacts given_up = past.submit(61, "given-up", 16, "");
    past.put(70, PodRemoved{given_up.uid});
    past.put(100, Plan{});
    const Preview result = preview_of(past.since(5), Policy{});
    EXPECT_EQ(result.all.jobs, 2);
    EXPECT_EQ(result.all.before.not_started, 1);
    EXPECT_EQ(result.wait_mean_in_fact, result.all.before.mean);
}

TEST(Preview, has_no_jobs_for_a_window_without_jobs) {
    Past past;
    EXPECT_EQ(preview_of(past.since(50, 100), queues(10)).all.jobs, 0);
    PastCollector without_journal{Engine{}, Past::instant(0)};
    EXPECT_TRUE(std::move(without_journal).finish(Past::instant(100)).exported.empty());
}

}  // namespace
}  // namespace gpuctl::whatif
