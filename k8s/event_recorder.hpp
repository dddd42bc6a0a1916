#pragma once
// Events for people (S10, ruling 25): FailedScheduling about each waiting pod, Scheduled about each
// bound one, at bounded rates, those of all jobs in turn (event_ledger.hpp). Best effort: binding
// never waits for an event, and while pods are being bound few are written. Only a FailedScheduling
// that was surely not made is tried again, some minutes long.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/event_ledger.hpp"
#include "k8s/refusal_notice.hpp"
#include "k8s/token_bucket.hpp"
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

class EventRecorder {
public:
    EventRecorder(aio::Loop& loop, Client& client, EventRecorderSettings settings);

    // Until cancelled; spawn it in a TaskGroup.
    aio::Task<void> run();

    void pending(const ReportPending& report);
    void started(const ReportStarted& report);
    void preempted(const EvictPod& eviction);
    // The pod waits no longer, or is gone.
    void forget(const std::string& uid) { ledger_.forget(uid); }
    void lead(std::optional<Epoch> epoch);
    // Of any pod: for a while fewer events go out.
    void binding(aio::Clock::time_point now) { successes_.binding(now); }

    struct Figures {
        std::uint64_t written = 0;
        std::uint64_t failed = 0;
        std::uint64_t dropped = 0;  // events that found no room to wait in
    };
    [[nodiscard]] Figures figures() const;

private:
    [[nodiscard]] aio::Clock::time_point next_at(aio::Clock::time_point now) const;
    enum class Posted : std::uint8_t { made, not_made, never, unknown };
    aio::Task<Posted> post(EventNote event, std::string name, Instant at, Epoch epoch);
    aio::Task<void> write(FailureLedger::Write order, Epoch epoch);
    void count(const ApiResult<ApiResponse>& answer);
    std::string new_name(const PodReference& pod);

    Client& client_;
    EventRecorderSettings settings_;
    aio::Signal changed_;
    FailureLedger ledger_;
    SuccessLine line_;
    TokenBucket failures_;
    PacedBudget successes_;
    std::optional<Epoch> epoch_;
    std::uint64_t names_ = 0;
    Figures figures_;
    RefusalNotice refusals_;
};

}  // namespace gpuctl::k8s
