// Rows of lists of jobs.

#include "daemon/api/jobs/job_rows.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/engine_world.hpp"

namespace gpuctl::api {
namespace {

using test::EngineWorld;

nlohmann::json page(EngineWorld& world, const JobSelection& selection, std::int64_t number = 1,
                    std::int64_t size = 20) {
    std::string text;
    JobRows{world.engine.listing(), world.now, text}.add_page(selection, number, size);
    return nlohmann::json::parse(text);
}

JobSelection by_pod() {
    JobSelection selection;
    selection.by_pod = true;
    return selection;
}

JobRecord training(const std::string& name, std::int32_t ranks) {
    JobRecord record;
    record.uid = "uid-of-" + name;
    record.spec.key = {"team-a", name};
    record.spec.replicas_min = record.spec.replicas_max = ranks;
    return record;
}

TEST(JobRows, in_a_list_of_pods_a_job_without_pods_has_no_ready_count) {
    EngineWorld world;
    world.send(JobSubmitted{training("llm", 2)});
    EXPECT_EQ(page(world, {})["items"][0]["ready"], "0/2");
    EXPECT_EQ(page(world, by_pod())["items"][0]["ready"], "0/0");
}

// Regression: a row of a rollout mixed requests and reasons of the new pods with the old ones.
TEST(JobRows, a_pods_row_shows_the_pods_own_state_and_not_that_of_waiting_pods) {
    EngineWorld world;
    world.add(test::node("a", 2));
    world.add(test::pod("roll-0", "roll", 2));
    world.run();
    world.pods.at("roll-0").phase = PodPhase::running;
    world.pods.at("roll-0").status = "CrashLoopBackOff";
    world.show("roll-0");
    world.add(test::pod("roll-1", "roll", 1));
    world.run();
    const nlohmann::json rows = page(world, by_pod())["items"];
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0]["gpu"], 2);
    EXPECT_EQ(rows[0]["reason"], "");
    EXPECT_EQ(rows[0]["position"], 0);
    EXPECT_TRUE(rows[0]["estimatedStart"].is_null());
    EXPECT_EQ(rows[0]["ready"], "0/1") << "its container does not stay up";
    EXPECT_EQ(rows[1]["gpu"], 1);
    EXPECT_EQ(rows[1]["reason"], "gpu_insufficient");
    EXPECT_EQ(rows[1]["position"], 1);
    EXPECT_EQ(page(world, {})["items"][0]["ready"], "0/2");
}

TEST(JobRows, pods_of_other_schedulers_follow_the_jobs_where_they_are_asked_for) {
    EngineWorld world;
    world.add(test::node("a", 8));
    world.add(test::pod("mine", "", 1));
    for (const char* name : {"z-other", "y-other"}) {
        PodFacts foreign = test::pod(name, "", 2);
        foreign.ours = false;
        foreign.node = "a";
        foreign.phase = PodPhase::running;
        foreign.status = "Running";
        world.add(foreign);
    }
    EXPECT_EQ(page(world, by_pod())["total"], 1) << "not listed by themselves";
    const std::vector<PodId> foreign = foreign_pods(world.engine.state(), by_pod());
    std::string text;
    JobRows{world.engine.listing(), world.now, text}.add_page(by_pod(), 2, 2, foreign);
    const nlohmann::json second = nlohmann::json::parse(text);
    EXPECT_EQ(second["total"], 3);
    ASSERT_EQ(second["items"].size(), 1U) << "one job and one of the two pods are on page 1";
    EXPECT_EQ(second["items"][0]["jobId"], "z-other");
    EXPECT_EQ(second["items"][0]["kind"], "foreign");
    EXPECT_EQ(second["items"][0]["node"], "a");
    EXPECT_EQ(second["items"][0]["gpu"], 2);
    JobSelection elsewhere = by_pod();
    elsewhere.namespace_name = "elsewhere";
    EXPECT_TRUE(foreign_pods(world.engine.state(), elsewhere).empty());
}

TEST(JobRows, a_page_begins_where_the_one_before_it_ended) {
    EngineWorld world;
    for (int i = 0; i < 25; ++i) world.add(test::pod("p" + std::to_string(i), "", 1));
    std::vector<std::string> names;
    for (int number = 1; number <= 4; ++number) {
        const nlohmann::json one = page(world, by_pod(), number, 7);
        EXPECT_EQ(one["total"], 25);
        for (const nlohmann::json& row : one["items"]) names.push_back(row["name"]);
    }
    EXPECT_EQ(names.size(), 25U);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    EXPECT_EQ(page(world, by_pod(), 5, 7)["items"].size(), 0U);
}

TEST(JobRows, of_a_summarized_job_say_that_it_is_a_summary) {
    EngineWorld world;
    world.add(test::node("a", 2));
    Policy policy;
    policy.finished_jobs_detailed = 0;
    world.set(policy);
    world.add(test::pod("done-0", "Job.1:done", 2));
    world.run();
    PodFacts& pod = world.pods.at("done-0");
    pod.phase = PodPhase::succeeded;
    pod.finished_at = world.now;
    world.show("done-0");
    world.run();
    ASSERT_EQ(world.engine.state().jobs.finished_jobs().by_key().size(), 1U);
    for (const JobSelection& selection : {JobSelection{}, by_pod()}) {
        const nlohmann::json row = page(world, selection)["items"][0];
        EXPECT_EQ(row["summary"], true);
        EXPECT_EQ(row["status"], "Succeeded");
        EXPECT_EQ(row["ready"], "0/1");
        EXPECT_EQ(row["node"], "a");
        EXPECT_EQ(row["gpuTotal"], 2);
        EXPECT_EQ(row["reason"], "");
        EXPECT_EQ(row["position"], 0);
        EXPECT_TRUE(row["estimatedStart"].is_null());
    }
    EXPECT_EQ(page(world, {})["finishedRemoved"]["count"], 0);
}

TEST(JobRows, names_that_json_has_to_escape_are_escaped) {
    EngineWorld world;
    PodFacts odd = test::pod("odd", "", 1);
    odd.status = "say \"why\" \xff";
    world.add(odd);
    const std::string status = page(world, by_pod())["items"][0]["status"];
    EXPECT_EQ(status, "say \"why\" \xEF\xBF\xBD");
}

}  // namespace
}  // namespace gpuctl::api
