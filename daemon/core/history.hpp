#pragma once
// Recent events of each job, for `describe`: a bounded memory of its own, lost with the process
// (the API server and the journal have the durable data). Stored per job so that a job with many
// events does not displace those of other jobs.
//
// Thread: the loop's. An observer of EngineLoop.

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ports/engine_observer.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::core {

inline constexpr std::size_t kEventsPerJobMax = 50;
inline constexpr std::size_t kJobsRememberedMax = 20'000;
// Lists of the events of all jobs read those of the jobs that changed last, at most this many.
inline constexpr std::size_t kJobsListedMax = 500;

struct JobEvent {
    Instant at;        // the last time
    Instant first_at;  // equal consecutive events are one line with a count
    bool warning = false;
    std::string reason;  // PascalCase, as Kubernetes' events: Scheduled, FailedScheduling, ...
    std::string object;  // "Job/llm" or "Pod/llm-0"
    std::string message;
    std::int64_t count = 1;
};

struct EventOfJob {
    ObjectKey job;
    JobEvent event;
};

class History final : public ports::EngineObserver {
public:
    void on_input(const Input& input) override { on_event(input.event, input.now); }
    void on_event(const Event& event, Instant now);
    void on_effect(const Effect& effect, Instant now) override;
    // Takes the events of a history that saw the inputs before this one's first: after a restart,
    // the journal's past. Pods that this one reports as new are reported once.
    void add_past(const History& past);
    // Newest first.
    [[nodiscard]] std::vector<JobEvent> of(const ObjectKey& job) const;
    // Of the jobs with the newest events, newest first; an empty namespace means any.
    [[nodiscard]] std::vector<EventOfJob> recent(std::string_view namespace_name) const;
    // Whether this incarnation may still write to its log.
    [[nodiscard]] bool pod_runs(const std::string& uid) const;

private:
    struct LastSeen {
        ObjectKey job;
        std::string name;
        std::string status;
        std::string node;
        std::int32_t restarts = 0;
        bool terminal = false;
    };

    struct OfJob {
        ObjectKey job;
        std::deque<JobEvent> events;
        std::string uid_replaced;       // of its former object, which makes room for another one
        bool is_being_deleted = false;  // so that its deletion is not reported as lost
        std::list<std::string>::iterator place{};  // in jobs_in_order_
    };

    void on_update(const UpdateWorkload& update, Instant now);
    void on_pod(const PodFacts& pod, Instant now);
    void on_evicted(const PodEvictOutcome& outcome, Instant now);
    OfJob& of_job(const ObjectKey& job);
    void add(const ObjectKey& job, JobEvent event);
    void drop(const DropDetails& finished);

    std::unordered_map<std::string, OfJob> by_job_;          // namespace/name
    std::list<std::string> jobs_in_order_;                   // by their last event, oldest first
    std::unordered_map<std::string, LastSeen> pods_;         // by uid, while they exist
    std::unordered_map<std::uint64_t, EvictPod> evictions_;  // without an answer yet
};

}  // namespace gpuctl::core
