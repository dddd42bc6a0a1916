// What `explain` reports about jobs that do not wait.

#include "daemon/api/jobs/state_sentence.hpp"

#include <gtest/gtest.h>

namespace gpuctl::api {
namespace {

JobView job(std::string status) {
    JobView view;
    view.key = {"team-a", "llm"};
    view.status = std::move(status);
    view.pods_wanted = 2;
    return view;
}

PodView pod(PodPhase phase, std::string status) {
    PodView view;
    view.facts.key = {"team-a", "llm-0"};
    view.facts.phase = phase;
    view.facts.status = std::move(status);
    view.node = "train-1";
    return view;
}

TEST(StateSentence, a_running_job_has_its_start_time) {
    JobView running = job("Running");
    running.started_at = Instant{1'000};
    running.pods_running = 2;
    EXPECT_EQ(state_sentence(running, {}),
              "it has been running since 1970-01-01T00:00:01Z: 2 of 2 pods");
    running.started_at = Instant{};
    EXPECT_EQ(state_sentence(running, {}), "it is running: 2 of 2 pods");
}

TEST(StateSentence, a_failed_job_names_the_pod_and_its_reason) {
    JobView failed = job("Failed");
    failed.finished_at = Instant{2'000};
    failed.pods = {pod(PodPhase::succeeded, ""), pod(PodPhase::failed, "DeadlineExceeded")};
    EXPECT_EQ(state_sentence(failed, {}),
              "it failed at 1970-01-01T00:00:02Z: pod llm-0 ended with DeadlineExceeded on node "
              "train-1");
}

TEST(StateSentence, a_failed_job_whose_pods_are_gone_repeats_the_last_failure) {
    const std::vector<core::JobEvent> events{
        {{}, {}, false, "Removed", "Pod/llm-0", "the pod is gone"},
        {{}, {}, true, "OOMKilled", "Pod/llm-0", "the pod is OOMKilled"}};
    EXPECT_EQ(state_sentence(job("Failed"), events), "it failed: Pod/llm-0: the pod is OOMKilled");
}

TEST(StateSentence, a_finished_job_is_finished) {
    EXPECT_EQ(state_sentence(job("Succeeded"), {}), "it finished");
}

TEST(StateSentence, a_job_without_pods_says_what_they_wait_for) {
    JobView young = job("Pending");
    EXPECT_EQ(state_sentence(young, {}),
              "its pods do not exist yet: they are being created in the cluster");
    young.waiting.emplace();
    young.waiting->facts = {fact::ClusterMessage{"namespace team-a was not found"}};
    EXPECT_EQ(state_sentence(young, {}),
              "its pods do not exist yet: namespace team-a was not found");
}

TEST(StateSentence, a_service_without_replicas_waits_for_nothing) {
    JobView idle = job("Pending");
    idle.pods_wanted = 0;
    EXPECT_EQ(state_sentence(idle, {}), "it requests no pods (replicas: 0)");
}

TEST(StateSentence, a_placed_pod_that_starts_is_named) {
    JobView placed = job("Pending");
    placed.pods = {pod(PodPhase::pending, "ContainerCreating")};
    EXPECT_EQ(state_sentence(placed, {}),
              "it is placed and starts: pod llm-0 on node train-1 is ContainerCreating");
}

}  // namespace
}  // namespace gpuctl::api
