#pragma once
// Kubernetes events for users: FailedScheduling about each waiting pod, Scheduled about each bound
// one, at bounded rates, one per job in turn (event_ledger.hpp). Best effort: binding never waits
// for an event, and while pods are being bound few are written. Only a FailedScheduling that was
// certainly not created is retried, for some minutes.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/client/token_bucket.hpp"
#include "k8s/write/event_ledger.hpp"
#include "k8s/write/paced_writer.hpp"
#include "k8s/write/refusal_notice.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::k8s {

struct EventRecorderSettings {
    bool failures = true;
    bool successes = true;
    std::int64_t failures_per_second = 20;
    WriteRate successes_rate{5, 10};
    std::size_t successes_waiting_max = 5'000;
    std::string instance = "gpuctld";  // reportingInstance
    FailureLedger::Settings ledger;
    std::uint64_t seed = 1;  // of event names
    RefusalNotice::Say on_refusal;
};

class EventRecorder final : public PacedWriter {
public:
    EventRecorder(aio::Loop& loop, Client& client, EventRecorderSettings settings);

    void pending(const ReportPending& report);
    void started(const ReportStarted& report);
    void preempted(const EvictPod& eviction);
    // The pod does not wait any more, or is gone.
    void forget(const std::string& uid) { ledger_.forget(uid); }
    // A pod was bound: for a while fewer events are written.
    void binding(aio::Clock::time_point now) { successes_.binding(now); }

    struct Figures {
        std::uint64_t written = 0;
        std::uint64_t failed = 0;
        std::uint64_t dropped = 0;  // events dropped because the queue was full
    };
    [[nodiscard]] Figures figures() const;

private:
    [[nodiscard]] Time next_at(Time now) const override;
    aio::Task<void> write_next(Time now, Epoch epoch) override;
    enum class Posted : std::uint8_t { made, not_made, never, unknown };
    aio::Task<Posted> post(EventNote event, std::string name, Instant at, Epoch epoch);
    aio::Task<void> write(FailureLedger::Write order, Epoch epoch);
    void count(const ApiResult<ApiResponse>& answer);
    std::string new_name(const PodReference& pod);

    Client& client_;
    EventRecorderSettings settings_;
    FailureLedger ledger_;
    SuccessLine line_;
    TokenBucket failures_;
    PacedBudget successes_;
    std::uint64_t names_ = 0;
    Figures figures_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
