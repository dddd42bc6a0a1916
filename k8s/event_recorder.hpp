#pragma once
// Events for people (S10, ruling 25): FailedScheduling once per job and reason, repeats aggregated
// into a series; Scheduled once per job or gang while a low-rate budget lasts. Best effort: what
// does not go out in time is dropped and counted, and binding never waits for it. Only a new
// FailedScheduling that was surely not made is tried again, some minutes long.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/refusal_notice.hpp"
#include "k8s/token_bucket.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::k8s {

struct EventNote {
    PodReference regarding;
    std::string type;    // Normal, Warning
    std::string reason;  // Scheduled, FailedScheduling
    std::string action;  // Binding, Scheduling
    std::string note;    // at most 1,024 bytes
};

std::string event_name(const PodReference& pod, std::uint64_t salt);
// The events.k8s.io/v1 object; `instance` is reportingInstance.
std::string event_body(const EventNote& event, const std::string& name, const std::string& instance,
                       Instant now);
std::string series_patch(std::int64_t count, Instant last_observed);
// "Successfully assigned team/a-0 to n1", or the same for a whole gang.
EventNote started_note(const ReportStarted& report);
EventNote preempted_note(const EvictPod& eviction);

// Repeats of FailedScheduling per job. Pure: the time is an argument.
class FailureLedger {
public:
    using Time = aio::Clock::time_point;
    struct Settings {
        std::size_t jobs_max = 10'000;
        std::chrono::milliseconds hold_down{1'000};
        std::chrono::milliseconds same_reason_again{30'000};
        std::chrono::milliseconds series_flush{360'000};
        std::chrono::milliseconds retry_first{1'000};
        std::chrono::milliseconds retry_cap{60'000};
        std::int32_t tries_max = 10;  // six minutes of refusals
    };
    explicit FailureLedger(Settings settings) : settings_(settings) {}

    void want(const ReportPending& report, Time now);
    void forget(const ObjectKey& job);

    struct Write {
        ObjectKey job;
        EventNote event;          // of a new event
        std::string series_name;  // not empty: patch this event's series instead
        std::int64_t count = 0;
    };
    std::optional<Write> next(Time now);
    [[nodiscard]] Time next_at() const;
    // The event that next() asked for exists now under this name.
    void posted(const ObjectKey& job, std::string name);
    // It was surely not made: due again after a pause, with the newest words.
    void failed(const Write& write, Time now);
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Entry {
        Reason told = Reason::none;
        std::string told_note;
        std::string name;        // of the event that holds the series; empty: none yet
        std::int64_t count = 1;  // occurrences since it was made
        Time told_at{};
        std::optional<EventNote> wanted;
        Reason wanted_reason = Reason::none;
        bool series = false;        // only the series is due
        std::int32_t failures = 0;  // of new events, in a row
        Time due = Time::max();
    };
    void plan(const ObjectKey& job, Entry& entry, Time due);

    Settings settings_;
    std::map<ObjectKey, Entry> jobs_;
    std::multimap<Time, ObjectKey> due_;
    std::uint64_t dropped_ = 0;
};

struct EventRecorderSettings {
    bool failures = true;
    bool successes = true;
    std::int64_t failures_per_second = 20;
    std::int64_t successes_per_second = 5;
    std::string instance = "gpuctld";  // reportingInstance
    FailureLedger::Settings ledger;
    std::uint64_t seed = 1;  // of event names
    RefusalNotice::Say on_refusal;
};

class EventRecorder {
public:
    EventRecorder(aio::Loop& loop, Client& client, EventRecorderSettings settings);

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();

    void pending(const ReportPending& report);
    void started(const ReportStarted& report);
    void preempted(const EvictPod& eviction);
    void lead(std::optional<Epoch> epoch);

    struct Figures {
        std::uint64_t written = 0;
        std::uint64_t failed = 0;
        std::uint64_t dropped = 0;  // success events beyond the budget
    };
    [[nodiscard]] const Figures& figures() const { return figures_; }

private:
    // Whether it was made; absent: nobody knows.
    aio::Task<std::optional<bool>> post(EventNote event, std::string name, Epoch epoch);
    aio::Task<void> write(FailureLedger::Write order, Epoch epoch);
    void count(const ApiResult<ApiResponse>& answer);
    std::string new_name(const PodReference& pod);

    Client& client_;
    EventRecorderSettings settings_;
    aio::Signal changed_;
    FailureLedger ledger_;
    TokenBucket failures_;
    TokenBucket successes_;
    std::deque<EventNote> outbox_;  // success events that have their token
    std::optional<Epoch> epoch_;
    std::uint64_t names_ = 0;
    Figures figures_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
