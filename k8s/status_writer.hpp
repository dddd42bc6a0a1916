#pragma once
// Tells a pod's users why it waits: condition PodScheduled=False (S8). Reason Unschedulable only
// where more nodes would help, since autoscalers act on it; NotReadyForScheduling otherwise (M19).
// Written only when it changed, at a bounded rate, best effort; on success the API server writes
// PodScheduled=True itself.
//
// Bounds: so many pods are remembered, so many writes a second; a pod that waits less than a moment
// is never written, and new numbers under the same reason wait half a minute. A write that failed
// is due again after a pause that doubles, with the newest text, until it is told or the pod is
// gone.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/refusal_notice.hpp"
#include "k8s/token_bucket.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::k8s {

struct PodCondition {
    std::string reason;
    std::string message;
    friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

// nullopt: nothing to tell. Of gated pods the API server speaks (S2): no report names one.
std::optional<PodCondition> condition_for(const Explanation& explanation);
// A note of at most `bytes_max`, cut at a character.
std::string shortened(std::string text, std::size_t bytes_max);

// Before the next try, after so many failures in a row: `first`, doubled up to `cap`.
std::chrono::milliseconds pause_after(std::int32_t failures, std::chrono::milliseconds first,
                                      std::chrono::milliseconds cap);

// `since`: of the transition. Always said: a merge into a condition that another writer made, or
// that was never written, would leave it without one.
std::string condition_patch(const PodReference& pod, const PodCondition& condition, Instant since,
                            std::int64_t generation);

// What was told and what is to be told, per waiting pod. Pure: the time is an argument.
class ConditionLedger {
public:
    using Time = aio::Clock::time_point;
    struct Settings {
        std::size_t pods_max = 50'000;
        std::chrono::milliseconds hold_down{1'000};
        std::chrono::milliseconds same_reason_again{30'000};
        std::chrono::milliseconds retry_first{1'000};
        std::chrono::milliseconds retry_cap{60'000};
    };
    explicit ConditionLedger(Settings settings) : settings_(settings) {}

    // The pod as the API server has it; known after a restart too.
    void observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                  PodCondition told, Instant since);
    void want(const PodReference& pod, const PodCondition& condition, Time now);
    void forget(const std::string& uid);

    struct Write {
        PodReference pod;
        PodCondition condition;
        Instant since;  // of the transition; never: with this write
        std::int64_t generation = 0;
    };
    // The write that has been due longest; counts as told until it has failed.
    std::optional<Write> next(Time now);
    void written(const Write& write);
    // Not told, as far as anybody knows: due again after a pause, unless the watch has shown it.
    void failed(const Write& write, Time now);
    // When next() may have something; Time::max(): not before the next want().
    [[nodiscard]] Time next_at() const;
    [[nodiscard]] std::size_t size() const { return pods_.size(); }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Entry {
        PodReference pod;
        std::int64_t generation = 0;
        bool told_unscheduled = false;
        bool is_confirmed = false;  // the watch spoke since the last write was sent
        std::int32_t failures = 0;  // in a row
        Instant since;              // of the transition, while told_unscheduled
        PodCondition told;
        std::optional<PodCondition> wanted;
        Time told_at{};
        Time due{};
    };
    void unschedule(Entry& entry);
    void schedule(Entry& entry, PodCondition condition, Time due);

    Settings settings_;
    std::unordered_map<std::string, Entry> pods_;  // by uid
    std::multimap<Time, std::string> due_;         // uids with a wanted condition
    std::uint64_t dropped_ = 0;
};

class StatusWriter {
public:
    StatusWriter(aio::Loop& loop, Client& client, std::int64_t writes_per_second,
                 ConditionLedger::Settings settings, RefusalNotice::Say on_refusal = {});

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();

    void observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                  PodCondition told, Instant since);
    void want(const ReportPending& report);
    void forget(const std::string& uid) { ledger_.forget(uid); }
    // Writes go out only in a term of leadership (A2).
    void lead(std::optional<Epoch> epoch);

    struct Figures {
        std::uint64_t written = 0;
        std::uint64_t failed = 0;
    };
    [[nodiscard]] const Figures& figures() const { return figures_; }
    [[nodiscard]] const ConditionLedger& ledger() const { return ledger_; }

private:
    aio::Task<void> write(ConditionLedger::Write order, Epoch epoch);

    Client& client_;
    aio::Signal changed_;
    ConditionLedger ledger_;
    TokenBucket budget_;
    std::optional<Epoch> epoch_;
    Figures figures_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
