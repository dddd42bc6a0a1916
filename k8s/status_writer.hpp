#pragma once
// Tells a pod's users why it waits: condition PodScheduled=False (S8). Reason Unschedulable only
// where more nodes would help, since autoscalers act on it; NotReadyForScheduling otherwise (M19).
// Written only when it changed, at a bounded rate, best effort; on success the API server writes
// PodScheduled=True itself.
//
// Bounds: so many pods are remembered, so many writes a second, those of all jobs in turn
// (pod_line.hpp); a pod that waits less than a second is never written, and new numbers under the
// same reason wait half a minute, of jobs with many waiting pods longer. A write that failed is due
// again after a pause that doubles, with the newest text, until it is written or the pod is gone.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/pod_line.hpp"
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
        PodPause same_reason_again{std::chrono::milliseconds{500}, std::chrono::seconds{30},
                                   std::chrono::minutes{5}};
        std::chrono::milliseconds retry_first{1'000};
        std::chrono::milliseconds retry_cap{60'000};
    };
    explicit ConditionLedger(Settings settings) : settings_(settings) {}

    // The pod as the API server has it; known after a restart too.
    void observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                  PodCondition told, Instant since);
    // All pods of a report share one text.
    using Text = std::shared_ptr<const PodCondition>;
    void want(const ObjectKey& job, const PodReference& pod, const Text& condition, Time now);
    void forget(const std::string& uid);

    struct Write {
        PodReference pod;
        PodCondition condition;
        Instant since;  // of the transition; never: with this write
        std::int64_t generation = 0;
    };
    // The next write that is due; counts as told until it has failed.
    std::optional<Write> next(Time now);
    void written(const Write& write);
    // Not told, as far as anybody knows: due again after a pause, unless the watch has shown it.
    void failed(const Write& write, Time now);
    // When next() may have something; Time::max(): not before the next want().
    [[nodiscard]] Time next_at() const { return line_.next_at(); }
    [[nodiscard]] std::size_t size() const { return pods_.size(); }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    using Jobs = std::map<ObjectKey, std::size_t>;  // with the number of its pods
    struct Entry {
        explicit Entry(Jobs::iterator of) : job(of) {}
        PodReference pod;
        Jobs::iterator job;  // end(): no report has named the pod yet
        std::int64_t generation = 0;
        bool told_unscheduled = false;
        bool is_confirmed = false;  // the watch spoke since the last write was sent
        std::int32_t failures = 0;  // in a row
        Instant since;              // of the transition, while told_unscheduled
        Text told;                  // null: not known
        Text wanted;                // null: nothing; else the pod is in the line
        Time told_at{};
    };
    using Pods = std::unordered_map<std::string, Entry>;  // by uid
    Entry& entry_of(const PodReference& pod);
    void belongs_to(Entry& entry, const ObjectKey& job);
    void leave_job(Entry& entry);
    void unschedule(Entry& entry);
    void schedule(Entry& entry, Text condition, Time due);

    Settings settings_;
    Pods pods_;
    Jobs jobs_;
    PodLine line_;
    std::uint64_t dropped_ = 0;
};

class StatusWriter {
public:
    StatusWriter(aio::Loop& loop, Client& client, WriteRate rate,
                 ConditionLedger::Settings settings, RefusalNotice::Say on_refusal = {});

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();

    void observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                  PodCondition told, Instant since);
    void want(const ReportPending& report);
    void forget(const std::string& uid) { ledger_.forget(uid); }
    // Writes go out only in a term of leadership (A2).
    void lead(std::optional<Epoch> epoch);
    // Of any pod: for a while fewer writes go out.
    void binding(aio::Clock::time_point now) { budget_.binding(now); }

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
    PacedBudget budget_;
    std::optional<Epoch> epoch_;
    Figures figures_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
