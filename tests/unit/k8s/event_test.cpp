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

PodReference reference(std::string name) { return {{"team", name}, "uid-" + name}; }

ReportPending pending(Reason reason, std::string sentence) {
    ReportPending report;
    report.job = {"team", "llm"};
    report.pods = {reference("llm-0"), reference("llm-1")};
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

// M20: the engine names no gated pod in a report; those that wait beside one are told why.
TEST(Condition, pods_that_wait_beside_gated_ones_are_told_so) {
    EXPECT_TRUE(condition_for(pending(Reason::gated, "").explanation).has_value());
    EXPECT_FALSE(condition_for(pending(Reason::not_leader, "").explanation).has_value());
}

TEST(Condition, the_patch_names_the_incarnation_and_the_time_of_the_transition) {
    const PodCondition condition{"Unschedulable", "0/5 nodes: \"none\""};
    const auto first =
        Json::parse(condition_patch(reference("a"), condition, Instant{1'795'168'800'000}, 4));
    EXPECT_EQ(first, Json::parse(R"({"metadata":{"uid":"uid-a"},"status":{"conditions":[
      {"type":"PodScheduled","status":"False","reason":"Unschedulable",
       "message":"0/5 nodes: \"none\"","lastTransitionTime":"2026-11-20T10:00:00Z",
       "observedGeneration":4}]}})"));
}

TEST(ConditionLedger, M19_the_same_condition_is_written_once) {
    ConditionLedger ledger{{}};
    const PodCondition condition{"Unschedulable", "0/5"};
    ledger.want(reference("a"), condition, kStart);
    EXPECT_FALSE(ledger.next(kStart).has_value());  // it may be bound in a moment
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    EXPECT_FALSE(write->since.happened());  // the transition is this write
    for (int i = 0; i < 100; ++i) ledger.want(reference("a"), condition, kStart + seconds{2 + i});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
}

TEST(ConditionLedger, M19_what_a_previous_run_wrote_is_not_written_again) {
    ConditionLedger ledger{{}};
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{5'000});
    ledger.want(reference("a"), {"Unschedulable", "0/5"}, kStart);
    EXPECT_FALSE(ledger.next(kStart + seconds{60}).has_value());
    ledger.want(reference("a"), {"NotReadyForScheduling", "quota"}, kStart);
    const auto write = ledger.next(kStart + seconds{60});
    ASSERT_TRUE(write.has_value());
    EXPECT_EQ(write->since, Instant{5'000});  // still False: the time of transition stays
}

TEST(ConditionLedger, a_condition_that_somebody_left_without_a_time_gets_one) {
    ConditionLedger ledger{{}};
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{});
    ledger.want(reference("a"), {"NotReadyForScheduling", "quota"}, kStart);
    auto write = ledger.next(kStart + seconds{60});
    ASSERT_TRUE(write.has_value());
    EXPECT_FALSE(write->since.happened());
    write->since = Instant{7'000};
    ledger.written(*write);
    ledger.want(reference("a"), {"Unschedulable", "0/6"}, kStart + seconds{61});
    write = ledger.next(kStart + seconds{120});
    ASSERT_TRUE(write.has_value());
    EXPECT_EQ(write->since, Instant{7'000});
}

TEST(ConditionLedger, a_write_that_failed_is_tried_again_with_growing_pauses_until_it_is_told) {
    ConditionLedger ledger{{}};
    ledger.want(reference("a"), {"Unschedulable", "0/5"}, kStart);
    Time now = kStart + seconds{1};
    for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
        const auto write = ledger.next(now);
        ASSERT_TRUE(write.has_value());
        EXPECT_FALSE(write->since.happened());  // it has never been written
        ledger.failed(*write, now);
        EXPECT_FALSE(ledger.next(now + seconds{pause} - milliseconds{1}).has_value());
        now += seconds{pause};
        EXPECT_EQ(ledger.next_at(), now);
    }
    const auto write = ledger.next(now);
    ASSERT_TRUE(write.has_value());
    ledger.written(*write);
    EXPECT_FALSE(ledger.next(now + seconds{3'600}).has_value());
}

TEST(ConditionLedger, the_newest_text_goes_out_when_a_write_is_tried_again) {
    ConditionLedger ledger{{}};
    ledger.want(reference("a"), {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    ledger.want(reference("a"), {"Unschedulable", "0/6"}, kStart + seconds{1});
    ledger.failed(*write, kStart + seconds{2});
    ledger.want(reference("a"), {"NotReadyForScheduling", "quota"}, kStart + seconds{2});
    const auto again = ledger.next(kStart + seconds{3});
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->condition.message, "quota");
    ledger.written(*again);
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value()) << "once";
}

TEST(ConditionLedger, what_the_watch_shows_in_spite_of_an_error_is_not_written_again) {
    ConditionLedger ledger{{}};
    ledger.want(reference("a"), {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{5'000});
    ledger.failed(*write, kStart + seconds{6});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
}

TEST(ConditionLedger, a_pod_that_is_gone_is_not_tried_again) {
    ConditionLedger ledger{{}};
    ledger.want(reference("a"), {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    ledger.forget("uid-a");
    ledger.failed(*write, kStart + seconds{2});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
    EXPECT_EQ(ledger.size(), 0U);
}

TEST(RefusalNotice, says_the_first_refusal_and_counts_the_rest_of_a_minute) {
    std::vector<std::uint64_t> said;
    RefusalNotice notice{[&](const std::string& why, std::uint64_t refused) {
        EXPECT_EQ(why, "may not patch pods/status");
        said.push_back(refused);
    }};
    const ApiError forbidden = make_api_error(ErrorCode::Forbidden, "may not patch pods/status");
    notice.note(make_api_error(ErrorCode::Unreachable, "silence"), kStart);
    for (int i = 0; i < 60; ++i) notice.note(forbidden, kStart + seconds{i});
    EXPECT_EQ(said, std::vector<std::uint64_t>{1});
    notice.note(forbidden, kStart + seconds{60});
    EXPECT_EQ(said, (std::vector<std::uint64_t>{1, 60}));
}

TEST(ConditionLedger, new_numbers_wait_and_a_new_reason_does_not) {
    ConditionLedger ledger{{}};
    ledger.want(reference("a"), {"Unschedulable", "11 free"}, kStart);
    ASSERT_TRUE(ledger.next(kStart + seconds{1}).has_value());
    ledger.want(reference("a"), {"Unschedulable", "12 free"}, kStart + seconds{2});
    ledger.want(reference("a"), {"Unschedulable", "13 free"}, kStart + seconds{3});
    EXPECT_FALSE(ledger.next(kStart + seconds{30}).has_value());
    const auto late = ledger.next(kStart + seconds{31});
    ASSERT_TRUE(late.has_value());
    EXPECT_EQ(late->condition.message, "13 free");
    ledger.want(reference("a"), {"NotReadyForScheduling", "quota"}, kStart + seconds{32});
    EXPECT_TRUE(ledger.next(kStart + seconds{33}).has_value());
}

TEST(ConditionLedger, a_bound_pod_is_forgotten_and_the_memory_is_bounded) {
    ConditionLedger ledger{{2, milliseconds{0}, milliseconds{0}}};
    ledger.want(reference("a"), {"r", "m"}, kStart);
    ledger.forget("uid-a");
    EXPECT_FALSE(ledger.next(kStart).has_value());
    for (const char* name : {"a", "b", "c"}) ledger.want(reference(name), {"r", "m"}, kStart);
    EXPECT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger.dropped(), 1u);
}

TEST(FailureLedger, an_event_that_was_not_made_is_tried_again_but_not_for_ever) {
    FailureLedger ledger{{}};
    ledger.want(pending(Reason::gpu_insufficient, "needs 8"), kStart);
    Time now = kStart + seconds{1};
    int tries = 0;
    while (const auto write = ledger.next(now)) {
        ++tries;
        EXPECT_EQ(write->event.note, "needs 8");
        EXPECT_EQ(write->count, 0);
        ledger.failed(*write, now);
        now = std::min(now + seconds{60}, std::max(now, ledger.next_at()));
    }
    EXPECT_EQ(tries, 10);
    ledger.want(pending(Reason::tenant_quota, "quota"), now);
    const auto other = ledger.next(now + seconds{1});
    ASSERT_TRUE(other.has_value()) << "another reason is news";
    EXPECT_EQ(other->event.note, "quota");
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
    EventNote note{reference("a"), "Warning", "FailedScheduling", "Scheduling",
                   std::string(3'000, 'x')};
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
    report.pods = {reference("llm-0"), reference("llm-1"), reference("llm-2")};
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
