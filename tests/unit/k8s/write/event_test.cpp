// Events about waiting and started pods: their text and their rate.

#include "k8s/write/event_recorder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/write/status_writer.hpp"

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
    report.explanation.facts = {fact::ClusterMessage{std::move(sentence)}};
    return report;
}

TEST(Condition, only_reasons_that_more_nodes_would_cure_are_Unschedulable) {
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

// Reports never name a gated pod; pods that wait together with one get a reason.
TEST(Condition, pods_that_wait_together_with_gated_pods_get_that_reason) {
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

// Each pod in a job of its own, unless one is named.
void want(ConditionLedger& ledger, const std::string& pod, const PodCondition& condition, Time now,
          const std::string& job = "") {
    ledger.want({"team", job.empty() ? pod : job}, reference(pod),
                std::make_shared<const PodCondition>(condition), now);
}

TEST(ConditionLedger, the_same_condition_is_written_once) {
    ConditionLedger ledger{{}};
    const PodCondition condition{"Unschedulable", "0/5"};
    want(ledger, "a", condition, kStart);
    EXPECT_FALSE(ledger.next(kStart).has_value());  // it may be bound soon
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    EXPECT_FALSE(write->since.happened());  // the transition is this write
    for (int i = 0; i < 100; ++i) want(ledger, "a", condition, kStart + seconds{2 + i});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
}

TEST(ConditionLedger, a_condition_of_a_previous_run_is_not_written_again) {
    ConditionLedger ledger{{}};
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{5'000});
    want(ledger, "a", {"Unschedulable", "0/5"}, kStart);
    EXPECT_FALSE(ledger.next(kStart + seconds{60}).has_value());
    want(ledger, "a", {"NotReadyForScheduling", "quota"}, kStart);
    const auto write = ledger.next(kStart + seconds{60});
    ASSERT_TRUE(write.has_value());
    EXPECT_EQ(write->since, Instant{5'000});  // still False: the time of transition stays
}

TEST(ConditionLedger, a_condition_without_a_time_gets_one) {
    ConditionLedger ledger{{}};
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{});
    want(ledger, "a", {"NotReadyForScheduling", "quota"}, kStart);
    auto write = ledger.next(kStart + seconds{60});
    ASSERT_TRUE(write.has_value());
    EXPECT_FALSE(write->since.happened());
    write->since = Instant{7'000};
    ledger.written(*write);
    want(ledger, "a", {"Unschedulable", "0/6"}, kStart + seconds{61});
    write = ledger.next(kStart + seconds{120});
    ASSERT_TRUE(write.has_value());
    EXPECT_EQ(write->since, Instant{7'000});
}

TEST(ConditionLedger, a_failed_write_is_retried_with_growing_pauses_until_it_succeeds) {
    ConditionLedger ledger{{}};
    want(ledger, "a", {"Unschedulable", "0/5"}, kStart);
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
    want(ledger, "a", {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    want(ledger, "a", {"Unschedulable", "0/6"}, kStart + seconds{1});
    ledger.failed(*write, kStart + seconds{2});
    want(ledger, "a", {"NotReadyForScheduling", "quota"}, kStart + seconds{2});
    const auto again = ledger.next(kStart + seconds{3});
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->condition.message, "quota");
    ledger.written(*again);
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value()) << "once";
}

TEST(ConditionLedger, a_condition_that_the_watch_shows_despite_an_error_is_not_written_again) {
    ConditionLedger ledger{{}};
    want(ledger, "a", {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    ledger.observed(reference("a"), 1, true, {"Unschedulable", "0/5"}, Instant{5'000});
    ledger.failed(*write, kStart + seconds{6});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
}

TEST(ConditionLedger, a_removed_pod_is_not_tried_again) {
    ConditionLedger ledger{{}};
    want(ledger, "a", {"Unschedulable", "0/5"}, kStart);
    const auto write = ledger.next(kStart + seconds{1});
    ASSERT_TRUE(write.has_value());
    ledger.forget("uid-a");
    ledger.failed(*write, kStart + seconds{2});
    EXPECT_FALSE(ledger.next(kStart + seconds{3'600}).has_value());
    EXPECT_EQ(ledger.size(), 0U);
}

TEST(RefusalNotice, reports_the_first_refusal_and_counts_the_rest_of_a_minute) {
    std::vector<std::uint64_t> said;
    RefusalNotice notice{[&](const std::string& why, std::uint64_t refused) {
        EXPECT_EQ(why, "may not patch pods/status");
        said.push_back(refused);
    }};
    const ApiError forbidden = make_api_error(ErrorCode::Forbidden, "may not patch pods/status");
    notice.record(make_api_error(ErrorCode::Unreachable, "silence"), kStart);
    for (int i = 0; i < 60; ++i) notice.record(forbidden, kStart + seconds{i});
    EXPECT_EQ(said, std::vector<std::uint64_t>{1});
    notice.record(forbidden, kStart + seconds{60});
    EXPECT_EQ(said, (std::vector<std::uint64_t>{1, 60}));
}

TEST(ConditionLedger, new_numbers_wait_and_a_new_reason_does_not) {
    ConditionLedger ledger{{}};
    want(ledger, "a", {"Unschedulable", "11 free"}, kStart);
    ASSERT_TRUE(ledger.next(kStart + seconds{1}).has_value());
    want(ledger, "a", {"Unschedulable", "12 free"}, kStart + seconds{2});
    want(ledger, "a", {"Unschedulable", "13 free"}, kStart + seconds{3});
    EXPECT_FALSE(ledger.next(kStart + seconds{30}).has_value());
    const auto late = ledger.next(kStart + seconds{31});
    ASSERT_TRUE(late.has_value());
    EXPECT_EQ(late->condition.message, "13 free");
    want(ledger, "a", {"NotReadyForScheduling", "quota"}, kStart + seconds{32});
    EXPECT_TRUE(ledger.next(kStart + seconds{33}).has_value());
}

TEST(ConditionLedger, a_bound_pod_is_forgotten_and_the_memory_is_bounded) {
    ConditionLedger ledger{{2, milliseconds{0}, {}}};
    want(ledger, "a", {"r", "m"}, kStart);
    ledger.forget("uid-a");
    EXPECT_FALSE(ledger.next(kStart).has_value());
    for (const char* name : {"a", "b", "c"}) want(ledger, name, {"r", "m"}, kStart);
    EXPECT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger.dropped(), 1u);
}

// A report of a job with these pods: first, first + 1, ...
ReportPending waiting(const std::string& job, int first, int pods, Reason reason,
                      const std::string& sentence) {
    ReportPending report = pending(reason, sentence);
    report.job = {"team", job};
    report.pods.clear();
    for (int at = first; at < first + pods; ++at) {
        report.pods.push_back(reference(job + "-" + std::to_string(at)));
    }
    return report;
}

// The events written when one per tick is allowed, each created under the name of its pod.
std::vector<std::string> written(FailureLedger& ledger, Time from, Time until, milliseconds tick) {
    std::vector<std::string> names;
    for (Time now = from; now < until; now += tick) {
        const auto write = ledger.next(now);
        if (!write) continue;
        const PodReference& pod = write->event.regarding;
        names.push_back((write->series_name.empty() ? "" : "again ") + pod.key.name);
        if (write->series_name.empty()) ledger.posted(pod.uid, pod.key.name + ".1");
    }
    return names;
}

TEST(FailureLedger, an_event_that_was_not_made_is_tried_again_but_not_for_ever) {
    FailureLedger ledger{{}};
    ledger.want(waiting("llm", 0, 1, Reason::gpu_insufficient, "needs 8"), kStart);
    Time now = kStart + seconds{1};
    int tries = 0;
    while (const auto write = ledger.next(now)) {
        ++tries;
        EXPECT_EQ(write->event.note, "needs 8");
        EXPECT_TRUE(write->series_name.empty());
        ledger.failed(*write, now);
        now = std::min(now + seconds{60}, std::max(now, ledger.next_at()));
    }
    EXPECT_EQ(tries, 10);
    ledger.want(waiting("llm", 0, 1, Reason::tenant_quota, "quota"), now);
    const auto other = ledger.next(now + seconds{2});
    ASSERT_TRUE(other.has_value()) << "another reason is news";
    EXPECT_EQ(other->event.note, "quota");
}

TEST(FailureLedger, each_waiting_pod_of_a_job_has_an_event_of_its_own) {
    FailureLedger ledger{{}};
    ledger.want(waiting("llm", 0, 3, Reason::gpu_insufficient, "needs 8"), kStart);
    EXPECT_FALSE(ledger.next(kStart).has_value()) << "it may be bound soon";
    EXPECT_EQ(written(ledger, kStart + seconds{1}, kStart + seconds{10}, milliseconds{50}),
              (std::vector<std::string>{"llm-0", "llm-1", "llm-2"}));
    ledger.want(waiting("llm", 3, 1, Reason::gpu_insufficient, "needs 8"), kStart + seconds{20});
    EXPECT_EQ(written(ledger, kStart + seconds{20}, kStart + seconds{30}, milliseconds{50}),
              std::vector<std::string>{"llm-3"});
}

TEST(FailureLedger, the_first_pods_of_all_jobs_come_before_the_second_ones) {
    FailureLedger ledger{{}};
    ledger.want(waiting("a", 0, 1'000, Reason::gpu_insufficient, "needs 8"), kStart);
    ledger.want(waiting("b", 0, 2, Reason::gpu_insufficient, "needs 8"), kStart);
    ledger.want(waiting("c", 0, 1, Reason::gpu_insufficient, "needs 8"), kStart);
    EXPECT_EQ(written(ledger, kStart + seconds{1}, kStart + milliseconds{1'300}, milliseconds{50}),
              (std::vector<std::string>{"a-0", "b-0", "c-0", "a-1", "b-1", "a-2"}));
}

TEST(FailureLedger, a_repeated_event_is_counted_in_its_series_before_the_api_server_drops_it) {
    FailureLedger ledger{{}};
    ledger.want(waiting("llm", 0, 1, Reason::gpu_insufficient, "needs 8"), kStart);
    EXPECT_EQ(written(ledger, kStart, kStart + std::chrono::minutes{100}, seconds{1}),
              (std::vector<std::string>{"llm-0", "again llm-0", "again llm-0"}));
    const auto write = ledger.next(kStart + std::chrono::minutes{200});
    ASSERT_TRUE(write.has_value());
    EXPECT_EQ(write->series_name, "llm-0.1");
    EXPECT_EQ(write->count, 4);
    ledger.lost("uid-llm-0", kStart + std::chrono::minutes{200});
    const auto again = ledger.next(kStart + std::chrono::minutes{200});
    ASSERT_TRUE(again.has_value()) << "the event was gone: it is created again";
    EXPECT_EQ(again->series_name, "");
    EXPECT_EQ(again->event.note, "needs 8");
}

TEST(FailureLedger, a_job_that_changes_all_the_time_costs_the_same_whatever_its_size) {
    for (const int pods : {1, 10, 200}) {
        FailureLedger ledger{{}};
        std::size_t events = 0;
        for (int second = 0; second < 1'200; ++second) {
            const Time now = kStart + seconds{second};
            ledger.want(
                waiting("llm", 0, pods, Reason::gpu_insufficient, std::to_string(second) + " free"),
                now);
            events += written(ledger, now, now + seconds{1}, milliseconds{50}).size();
        }
        const std::size_t first = static_cast<std::size_t>(pods);
        EXPECT_GE(events, first) << "each once";
        EXPECT_LE(events, first + 42) << pods << ": one in half a minute then";
    }
}

TEST(FailureLedger, reasons_that_come_and_go_cannot_flood_the_api_server) {
    FailureLedger ledger{{}};
    std::size_t events = 0;
    for (int second = 0; second < 600; ++second) {
        const Time now = kStart + seconds{second};
        const Reason reason = second % 2 == 0 ? Reason::gpu_insufficient : Reason::tenant_quota;
        ledger.want(waiting("llm", 0, 300, reason, std::to_string(second)), now);
        events += written(ledger, now, now + seconds{1}, milliseconds{1}).size();
    }
    EXPECT_LE(events, 3u * 300u) << "each, and then after five minutes";
}

TEST(FailureLedger, a_bound_or_removed_pod_has_no_further_events) {
    FailureLedger ledger{{}};
    ledger.want(waiting("llm", 0, 2, Reason::gpu_insufficient, "needs 8"), kStart);
    ledger.forget("uid-llm-0");
    EXPECT_EQ(written(ledger, kStart, kStart + seconds{5}, milliseconds{100}),
              std::vector<std::string>{"llm-1"});
    ledger.forget("uid-llm-1");
    EXPECT_EQ(ledger.next_at(), Time::max());
    EXPECT_EQ(ledger.size(), 0u);
}

TEST(FailureLedger, its_memory_is_bounded) {
    FailureLedger::Settings settings;
    settings.pods_max = 2;
    FailureLedger ledger{settings};
    ledger.want(waiting("llm", 0, 5, Reason::gpu_insufficient, "needs 8"), kStart);
    EXPECT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger.dropped(), 3u);
}

TEST(ConditionLedger, the_first_pods_of_all_jobs_come_before_the_second_ones) {
    ConditionLedger ledger{{}};
    for (const char* pod : {"a-0", "a-1", "a-2"}) want(ledger, pod, {"r", "m"}, kStart, "a");
    for (const char* pod : {"b-0", "b-1"}) want(ledger, pod, {"r", "m"}, kStart, "b");
    std::string order;
    while (const auto write = ledger.next(kStart + seconds{1})) order += write->pod.key.name + " ";
    EXPECT_EQ(order, "a-0 b-0 a-1 b-1 a-2 ");
}

TEST(ConditionLedger, new_numbers_of_a_job_of_many_pods_wait_longer) {
    ConditionLedger ledger{{}};
    const auto all_want = [&](const std::string& text, Time now) {
        for (int at = 0; at < 300; ++at) {
            want(ledger, "a-" + std::to_string(at), {"Unschedulable", text}, now, "a");
        }
    };
    const auto writes_until = [&](Time now) {
        int writes = 0;
        while (ledger.next(now)) ++writes;
        return writes;
    };
    all_want("11 free", kStart);
    EXPECT_EQ(writes_until(kStart + seconds{1}), 300);
    all_want("12 free", kStart + seconds{2});
    EXPECT_EQ(writes_until(kStart + seconds{150}), 0) << "half a second for each of its pods";
    EXPECT_EQ(writes_until(kStart + seconds{151}), 300);
}

SuccessLine::Item bound_item(const std::string& pod) {
    return {SuccessLine::Item::What::scheduled, reference(pod), "n1", Instant{1}};
}

TEST(SuccessLine, returns_the_first_pod_of_every_job_before_any_second_one) {
    SuccessLine line{100};
    for (const char* pod : {"a-0", "a-1", "a-2"}) line.add({"team", "a"}, bound_item(pod));
    line.add({"team", "b"}, bound_item("b-0"));
    std::string order;
    while (const auto item = line.pop()) order += item->pod.key.name + " ";
    EXPECT_EQ(order, "a-0 b-0 a-1 a-2 ");
    EXPECT_TRUE(line.empty());
}

TEST(SuccessLine, when_it_is_full_the_job_with_most_in_it_loses_the_newer_half) {
    SuccessLine line{10};
    for (int at = 0; at < 9; ++at) {
        line.add({"team", "a"}, bound_item("a-" + std::to_string(at)));
    }
    line.add({"team", "b"}, bound_item("b-0"));
    line.add({"team", "c"}, bound_item("c-0"));
    EXPECT_EQ(line.size(), 6u);
    EXPECT_EQ(line.dropped(), 5u);
    std::string order;
    while (const auto item = line.pop()) order += item->pod.key.name + " ";
    EXPECT_EQ(order, "a-0 b-0 c-0 a-1 a-2 a-3 ");
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

TEST(Events, a_bound_pod_is_reported_in_the_words_of_kubernetes) {
    const EventNote event = bound_item("llm-0").event();
    EXPECT_EQ(event.note, "Successfully assigned team/llm-0 to n1");
    EXPECT_EQ(event.reason, "Scheduled");
    EXPECT_EQ(event.regarding.uid, "uid-llm-0");
}

TEST(TokenBucket, never_exceeds_its_rate_and_burst) {
    TokenBucket bucket{5, 5};
    int given = 0;
    for (int i = 0; i < 100; ++i) given += bucket.take_token(kStart) ? 1 : 0;
    EXPECT_EQ(given, 5);
    EXPECT_FALSE(bucket.take_token(kStart + milliseconds{199}));
    EXPECT_TRUE(bucket.take_token(kStart + milliseconds{200}));
    EXPECT_FALSE(TokenBucket(0, 0).take_token(kStart));
}

int taken_in_a_second(PacedBudget& budget, Time from) {
    int taken = 0;
    for (Time now = from; now < from + seconds{1}; now += milliseconds{1}) {
        taken += budget.take_token(now) ? 1 : 0;
    }
    return taken;
}

// A caller that waits until then and gets none would call again at once, for ever.
TEST(PacedBudget, has_a_token_at_the_time_that_it_reports) {
    PacedBudget budget{{5, 10}};
    std::uint64_t random = 3;
    Time now = kStart;
    for (int step = 0; step < 20'000; ++step) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        if ((random >> 33) % 7 == 0) budget.binding(now);
        const Time at = std::max(now, budget.ready_at(now));
        if (at > now) {
            EXPECT_FALSE(budget.take_token(now));
        }
        now = at;
        ASSERT_TRUE(budget.take_token(now)) << step;
        now += milliseconds{(random >> 40) % 3'000 / ((random >> 50) % 100 + 1)};
    }
}

TEST(PacedBudget, has_fewer_tokens_while_pods_are_being_bound) {
    PacedBudget budget{{5, 10}};
    EXPECT_NEAR(taken_in_a_second(budget, kStart), 55, 1) << "with what it had saved up";
    EXPECT_NEAR(taken_in_a_second(budget, kStart + seconds{1}), 50, 1);
    budget.binding(kStart + seconds{2});
    EXPECT_NEAR(taken_in_a_second(budget, kStart + seconds{2}), 10, 1) << "likewise";
    EXPECT_NEAR(taken_in_a_second(budget, kStart + seconds{3}), 55, 1) << "nothing was bound since";
    for (int second = 4; second < 10; ++second) {
        budget.binding(kStart + seconds{second});
        const auto taken = taken_in_a_second(budget, kStart + seconds{second});
        if (second <= 4) continue;  // with the rest of the quiet second before it
        EXPECT_NEAR(taken, 5, 1);
    }
}

}  // namespace
}  // namespace gpuctl::k8s
