// What users are told of waiting and started pods, and how often.

#include "k8s/event_recorder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/status_writer.hpp"

namespace gpuctl::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = aio::Clock::time_point;
using Json = nlohmann::json;

const Time kStart = Time{} + std::chrono::hours{1};

PodReference pod(std::string name) { return {{"team", name}, "uid-" + name}; }

ReportPending pending(Reason reason, std::string sentence) {
    ReportPending report;
    report.job = {"team", "llm"};
    report.pods = {pod("llm-0"), pod("llm-1")};
    report.explanation.reason = reason;
    report.explanation.sentence = std::move(sentence);
    return report;
}

TEST(Condition, M19_only_reasons_that_more_nodes_would_cure_say_Unschedulable) {
    for (const ReasonRow& row : kReasons) {
        Explanation why;
        why.reason = row.reason;
        const auto condition = condition_for(why);
        if (!condition) continue;
        EXPECT_EQ(condition->reason == "Unschedulable", row.autoscaler_can_help) << row.label;
    }
    EXPECT_EQ(condition_for(pending(Reason::tenant_quota, "").explanation)->reason,
              "NotReadyForScheduling");
    EXPECT_EQ(condition_for(pending(Reason::gpu_insufficient, "").explanation)->reason,
              "Unschedulable");
}

TEST(Condition, M20_gated_pods_are_not_written) {
    EXPECT_FALSE(condition_for(pending(Reason::gated, "").explanation).has_value());
}

TEST(Condition, the_patch_names_the_incarnation_and_the_time_only_when_it_flips) {
    const PodCondition condition{"Unschedulable", "0/5 nodes: \"none\""};
    const auto first =
        Json::parse(condition_patch(pod("a"), condition, true, 4, Instant{1'795'168'800'000}));
    EXPECT_EQ(first, Json::parse(R"({"metadata":{"uid":"uid-a"},"status":{"conditions":[
      {"type":"PodScheduled","status":"False","reason":"Unschedulable",
       "message":"0/5 nodes: \"none\"","lastTransitionTime":"2026-11-20T10:00:00Z",
       "observedGeneration":4}]}})"));
    const auto again = Json::parse(condition_patch(pod("a"), condition, false, 0, Instant{1}));
    EXPECT_FALSE(again["status"]["conditions"][0].contains("lastTransitionTime"));
}

TEST(ConditionLedger, M19_the_same_condition_is_written_once) {
    ConditionLedger ledger{{}};
    const PodCondition condition{"Unschedulable", "0/5"};
    ledger.want(pod("a"), condition, kStart);
    EXPECT_FALSE(ledger.next(kStart).has_value());  // it may be bound in a moment
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    EXPECT_TRUE(write->first);
    for (int i = 0; i < 100; ++i) ledger.want(pod("a"), condition, kStart + seconds{2 + i});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
}

TEST(ConditionLedger, M19_what_a_previous_run_wrote_is_not_written_again) {
    ConditionLedger ledger{{}};
    ledger.observed(pod("a"), 1, true, {"Unschedulable", "0/5"});
    ledger.want(pod("a"), {"Unschedulable", "0/5"}, kStart);
    EXPECT_FALSE(ledger.next(kStart + seconds{60}).has_value());
    ledger.want(pod("a"), {"NotReadyForScheduling", "quota"}, kStart);
    const auto write = ledger.next(kStart + seconds{60});
    ASSERT_TRUE(write.has_value());
    EXPECT_FALSE(write->first);  // still False: the time of transition stays
}

TEST(ConditionLedger, new_numbers_wait_and_a_new_reason_does_not) {
    ConditionLedger ledger{{}};
    ledger.want(pod("a"), {"Unschedulable", "11 free"}, kStart);
    ASSERT_TRUE(ledger.next(kStart + seconds{1}).has_value());
    ledger.want(pod("a"), {"Unschedulable", "12 free"}, kStart + seconds{2});
    ledger.want(pod("a"), {"Unschedulable", "13 free"}, kStart + seconds{3});
    EXPECT_FALSE(ledger.next(kStart + seconds{30}).has_value());
    const auto late = ledger.next(kStart + seconds{31});
    ASSERT_TRUE(late.has_value());
    EXPECT_EQ(late->condition.message, "13 free");
    ledger.want(pod("a"), {"NotReadyForScheduling", "quota"}, kStart + seconds{32});
    EXPECT_TRUE(ledger.next(kStart + seconds{33}).has_value());
}

TEST(ConditionLedger, a_bound_pod_is_forgotten_and_the_memory_is_bounded) {
    ConditionLedger ledger{{2, milliseconds{0}, milliseconds{0}}};
    ledger.want(pod("a"), {"r", "m"}, kStart);
    ledger.forget("uid-a");
    EXPECT_FALSE(ledger.next(kStart).has_value());
    for (const char* name : {"a", "b", "c"}) ledger.want(pod(name), {"r", "m"}, kStart);
    EXPECT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger.dropped(), 1u);
}

TEST(FailureLedger, repeats_of_one_reason_become_a_series) {
    FailureLedger ledger{{}};
    ledger.want(pending(Reason::gpu_insufficient, "needs 8"), kStart);
    const auto first = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->event.regarding.key.name, "llm-0");  // one event for the job
    EXPECT_EQ(first->event.note, "needs 8");
    EXPECT_EQ(first->count, 0);
    ledger.posted(first->job, "llm-0.1");
    for (int i = 0; i < 9; ++i) {
        ledger.want(pending(Reason::gpu_insufficient, "needs 8"), kStart + seconds{2});
    }
    EXPECT_FALSE(ledger.next(kStart + seconds{300}).has_value());
    const auto series = ledger.next(kStart + seconds{361});
    ASSERT_TRUE(series.has_value());
    EXPECT_EQ(series->series_name, "llm-0.1");
    EXPECT_EQ(series->count, 10);
}

TEST(FailureLedger, a_job_that_started_says_nothing_more) {
    FailureLedger ledger{{}};
    ledger.want(pending(Reason::gpu_insufficient, "needs 8"), kStart);
    ledger.forget({"team", "llm"});
    EXPECT_FALSE(ledger.next(kStart + seconds{60}).has_value());
    EXPECT_EQ(ledger.next_at(), Time::max());
}

TEST(Events, the_object_has_every_required_field) {
    EventNote note{pod("a"), "Warning", "FailedScheduling", "Scheduling", std::string(3'000, 'x')};
    const auto event = Json::parse(event_body(note, "a.1", "host_1", Instant{1'795'168'800'123}));
    EXPECT_EQ(event["eventTime"], "2026-11-20T10:00:00.123000Z");
    EXPECT_EQ(event["regarding"]["uid"], "uid-a");
    EXPECT_EQ(event["reportingController"], "gpuctl");
    EXPECT_EQ(event["reportingInstance"], "host_1");
    EXPECT_EQ(event["metadata"], Json::parse(R"({"namespace":"team","name":"a.1"})"));
    EXPECT_EQ(event["note"].get<std::string>().size(), 1'024u);
}

TEST(Events, notes_are_cut_between_characters) {
    std::string text;
    while (text.size() < 1'100) text += "ü";
    const std::string cut = shortened(text, 1'024);
    EXPECT_LE(cut.size(), 1'024u);
    EXPECT_NO_THROW(static_cast<void>(Json(cut).dump()));
}

TEST(Events, a_started_gang_is_one_event) {
    ReportStarted report;
    report.job = {"team", "llm"};
    report.pods = {pod("llm-0"), pod("llm-1"), pod("llm-2")};
    report.nodes = {"n1", "n2", "n1"};
    EXPECT_EQ(started_note(report).note,
              "Successfully assigned 3 pods of team/llm to 2 node(s): n1 (2), n2 (1)");
    report.pods.resize(1);
    report.nodes.resize(1);
    EXPECT_EQ(started_note(report).note, "Successfully assigned team/llm-0 to n1");
}

TEST(TokenBucket, gives_no_more_than_its_rate_and_burst) {
    TokenBucket bucket{5, 5};
    int given = 0;
    for (int i = 0; i < 100; ++i) given += bucket.take(kStart) ? 1 : 0;
    EXPECT_EQ(given, 5);
    EXPECT_FALSE(bucket.take(kStart + milliseconds{199}));
    EXPECT_TRUE(bucket.take(kStart + milliseconds{200}));
    EXPECT_FALSE(TokenBucket(0, 0).take(kStart));
}

}  // namespace
}  // namespace gpuctl::k8s
