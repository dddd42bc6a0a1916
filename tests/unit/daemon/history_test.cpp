// A job's events in `describe`.

#include "daemon/core/history.hpp"

#include <gtest/gtest.h>

namespace gpuctl::core {
namespace {

JobSubmitted submitted(const ObjectKey& key) {
    JobSubmitted event;
    event.job.spec.key = key;
    return event;
}

TEST(History, the_end_of_a_job_that_a_user_deleted_is_no_warning) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(JobDeleteRequested{key, false}, Instant{2});
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{3});
    ASSERT_EQ(history.of(key).size(), 3U);
    EXPECT_FALSE(history.of(key).front().warning) << history.of(key).front().message;
}

TEST(History, a_workload_that_was_removed_without_a_request_is_a_warning) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{2});
    EXPECT_TRUE(history.of(key).front().warning);
    EXPECT_EQ(history.of(key).front().reason, "WorkloadRemoved");
}

TEST(History, an_eviction_is_recorded_when_it_happened_and_a_refusal_as_refused) {
    const ObjectKey key{"team-a", "low"};
    History history;
    EvictPod order;
    order.id = EffectId{7};
    order.pod = {{"team-a", "low-0"}, "uid-0"};
    order.job = key;
    order.preemptor = {"team-a", "high"};
    order.why = CauseBox{cause::HigherPriority{{"team-a", "high"}}};
    history.on_effect(order, Instant{1});
    EXPECT_TRUE(history.of(key).empty()) << "it was asked, no more";
    history.on_event(PodEvictOutcome{order.id, "uid-0", EvictResult::disruption_budget, "not now"},
                     Instant{2});
    ASSERT_EQ(history.of(key).size(), 1U);
    EXPECT_EQ(history.of(key).front().reason, "EvictionRefused");
    EXPECT_EQ(history.of(key).front().message,
              "to be preempted by higher-priority job team-a/high, but not evicted: not now");
    order.id = EffectId{8};
    history.on_effect(order, Instant{3});
    history.on_event(PodEvictOutcome{order.id, "uid-0", EvictResult::evicted, ""}, Instant{4});
    EXPECT_EQ(history.of(key).front().reason, "Preempted");
    EXPECT_EQ(history.of(key).front().object, "Pod/low-0");
}

TEST(History, a_summarized_job_has_no_history) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    PodFacts pod;
    pod.key = {"team-a", "llm-0"};
    pod.uid = "uid-0";
    pod.job = "llm";
    pod.ours = true;
    pod.node = "n";
    pod.phase = PodPhase::running;
    history.on_event(PodObserved{pod}, Instant{2});
    EXPECT_TRUE(history.pod_runs("uid-0"));
    history.on_effect(DropDetails{key, "uid", {"uid-0"}}, Instant{3});
    EXPECT_TRUE(history.of(key).empty());
    EXPECT_FALSE(history.pod_runs("uid-0"));
    history.on_event(PodRemoved{"uid-0"}, Instant{4});
    EXPECT_TRUE(history.of(key).empty());
    history.on_event(submitted(key), Instant{5});
    EXPECT_EQ(history.of(key).size(), 1U);
}

TEST(History, a_new_job_does_not_inherit_the_past_of_its_name) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(submitted(key), Instant{1});
    history.on_event(JobDeleteRequested{key, false}, Instant{2});
    history.on_event(submitted(key), Instant{3});
    ASSERT_EQ(history.of(key).size(), 1U);
    EXPECT_EQ(history.of(key).front().reason, "Submitted");
    history.on_event(WorkloadRemoved{key, "uid"}, Instant{4});
    EXPECT_TRUE(history.of(key).front().warning) << "its deletion was not requested";
}

PodFacts ended(const ObjectKey& job, const std::string& name, std::int64_t from, std::int64_t to) {
    PodFacts pod;
    pod.key = {job.namespace_name, name};
    pod.uid = name;
    pod.job = job.name;
    pod.ours = true;
    pod.node = "n";
    pod.phase = PodPhase::succeeded;
    pod.started_at = Instant{from};
    pod.finished_at = Instant{to};
    return pod;
}

// Regression: after a restart every event had the time of the restart.
TEST(History, past_events_of_pods_have_their_own_time) {
    const ObjectKey key{"team-a", "llm"};
    History history;
    history.on_event(PodObserved{ended(key, "llm-0", 5, 70)}, Instant{100});
    history.on_event(PodObserved{ended(key, "llm-1", 6, 60)}, Instant{100});
    const std::vector<JobEvent> events = history.of(key);
    ASSERT_EQ(events.size(), 4U);
    const std::int64_t times[] = {70, 60, 6, 5};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(events[i].at, Instant{times[i]}) << i;
    EXPECT_EQ(events[0].reason, "Succeeded");
    EXPECT_EQ(events[3].reason, "Scheduled");
    EXPECT_EQ(events[3].message, "was placed on node n") << "its container may not run yet";
}

TEST(History, jobs_of_the_same_shown_name_have_separate_histories) {
    History history;
    const ObjectKey mine{"team-a", "web"};
    const ObjectKey theirs{"team-a", "Deployment.6d8f:web"};
    history.on_event(submitted(mine), Instant{1});
    history.on_event(PodObserved{ended(theirs, "web-6d8f-x", 5, 70)}, Instant{100});
    EXPECT_EQ(history.of(mine).size(), 1U);
    EXPECT_EQ(history.of(theirs).size(), 2U);
}

TEST(History, the_past_goes_before_what_this_process_saw_and_repeats_nothing) {
    const ObjectKey key{"team-a", "llm"};
    PodFacts pod;
    pod.uid = "u";
    pod.ours = true;
    pod.key = {"team-a", "llm-0"};
    pod.job = "llm";
    pod.node = "n1";
    pod.phase = PodPhase::running;
    pod.status = "Running";
    pod.started_at = Instant{30};
    History past;
    past.on_event(submitted(key), Instant{10});
    past.on_event(PodObserved{pod}, Instant{31});
    History now;  // after a restart the pod is new
    now.on_event(PodObserved{pod}, Instant{500});
    now.on_event(JobDeleteRequested{key, false}, Instant{600});
    now.add_past(past);
    std::vector<std::string> reasons;
    for (const JobEvent& event : now.of(key)) reasons.push_back(event.reason);
    EXPECT_EQ(reasons, (std::vector<std::string>{"Deleting", "Running", "Scheduled", "Submitted"}));
}

TEST(History, the_past_of_another_job_of_the_same_name_is_left_out) {
    const ObjectKey key{"team-a", "llm"};
    History past;
    past.on_event(submitted(key), Instant{10});
    past.on_event(JobDeleteRequested{key, false}, Instant{20});
    History now;
    now.on_event(submitted(key), Instant{30});
    now.add_past(past);
    EXPECT_EQ(now.of(key).size(), 1U);
    History empty;
    empty.add_past(past);
    EXPECT_EQ(empty.of(key).size(), 2U) << "a job that is gone keeps its events";
}

TEST(History, recent_events_of_all_jobs_are_newest_first) {
    History history;
    history.on_event(submitted({"a", "one"}), Instant{1});
    history.on_event(submitted({"b", "two"}), Instant{2});
    history.on_event(JobDeleteRequested{{"a", "one"}, false}, Instant{3});
    std::vector<std::string> jobs;
    for (const EventOfJob& event : history.recent("")) jobs.push_back(event.job.name);
    EXPECT_EQ(jobs, (std::vector<std::string>{"one", "two", "one"}));
    ASSERT_EQ(history.recent("b").size(), 1U);
    EXPECT_EQ(history.recent("b")[0].event.reason, "Submitted");
}

}  // namespace
}  // namespace gpuctl::core
