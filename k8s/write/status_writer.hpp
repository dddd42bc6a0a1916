#pragma once
// Writes the reason why a pod waits: condition PodScheduled=False. Reason Unschedulable only where
// more nodes would help, because autoscalers act on it; NotReadyForScheduling otherwise. Written
// only on change, at a bounded rate, best effort; at the binding the API server writes
// PodScheduled=True itself.
//
// Bounds: the number of stored pods and of writes a second, one job in turn (pod_line.hpp); a pod
// that waits less than a second is never written, and new numbers under the same reason wait half a
// minute, longer for jobs with many waiting pods. A failed write is due again after a pause that
// doubles, with the newest text, until it succeeds or the pod is gone.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/client/token_bucket.hpp"
#include "k8s/write/paced_writer.hpp"
#include "k8s/write/pod_line.hpp"
#include "k8s/write/refusal_notice.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::k8s {

struct PodCondition {
    std::string reason;
    std::string message;
    friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

// nullopt: no condition to write. The API server writes the condition of gated pods: no report
// names one.
std::optional<PodCondition> condition_for(const Explanation& explanation);
// A note of at most `bytes_max`, cut at a character.
std::string shortened(std::string text, std::size_t bytes_max);

// The pause after that many failures in a row: `first`, doubled up to `cap`.
std::chrono::milliseconds pause_after(std::int32_t failures, std::chrono::milliseconds first,
                                      std::chrono::milliseconds cap);

// `since`: of the transition. Always set: a merge into a condition without a time would leave it
// without one.
std::string condition_patch(const PodReference& pod, const PodCondition& condition, Instant since,
                            std::int64_t generation);

// The written and the wanted condition of each waiting pod. Pure: the time is an argument.
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

    // The pod as the API server has it; restores the state after a restart.
    void observed(const PodReference& pod, std::int64_t generation, bool stored_unscheduled,
                  PodCondition stored, Instant since);
    // All pods of a report share one text.
    using Text = std::shared_ptr<const PodCondition>;
    void want(const ObjectKey& job, const PodReference& pod, const Text& condition, Time now);
    void forget(const std::string& uid);

    struct Write {
        PodReference pod;
        PodCondition condition;
        Instant since;  // of the transition; unset: the time of this write
        std::int64_t generation = 0;
    };
    // The next write that is due; counts as written until failed() is called.
    std::optional<Write> next(Time now);
    void written(const Write& write);
    // The write failed, as far as is known: due again after a pause, unless the watch has reported
    // it.
    void failed(const Write& write, Time now);
    // When next() may have a write; Time::max(): not before the next want().
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
        bool stored_unscheduled = false;
        bool is_confirmed = false;  // the watch reported the pod since the last write was sent
        std::int32_t failures = 0;  // in a row
        Instant since;              // of the transition, while an Unschedulable condition is stored
        Text stored;                // null: not known
        Text wanted;                // null: nothing; else the pod is in the queue
        Time written_at{};
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

class StatusWriter final : public PacedWriter {
public:
    StatusWriter(aio::Loop& loop, Client& client, WriteRate rate,
                 ConditionLedger::Settings settings, RefusalNotice::Say on_refusal = {});

    void observed(const PodReference& pod, std::int64_t generation, bool stored_unscheduled,
                  PodCondition stored, Instant since);
    void want(const ReportPending& report);
    void forget(const std::string& uid) { ledger_.forget(uid); }
    // A pod was bound: for a while fewer writes are sent.
    void binding(aio::Clock::time_point now) { budget_.binding(now); }

private:
    [[nodiscard]] Time next_at(Time now) const override;
    aio::Task<void> write_next(Time now, Epoch epoch) override;
    aio::Task<void> write(ConditionLedger::Write order, Epoch epoch);

    Client& client_;
    ConditionLedger ledger_;
    PacedBudget budget_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
