#pragma once
// Decides which Event objects are due: their text, and whether a repeat is a new event, a count in
// the series of an event, or nothing. Pure: the time is an argument.

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "k8s/write/pod_line.hpp"
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

// FailedScheduling: one per waiting pod and reason. New numbers under the same reason become a new
// event after a pause, which is longer for jobs with many waiting pods; an unchanged text is
// repeated in the event's series before the API server deletes the event (--event-ttl, one hour).
class FailureLedger {
public:
    using Time = aio::Clock::time_point;
    struct Settings {
        std::size_t pods_max = 50'000;
        std::chrono::milliseconds hold_down{1'000};
        PodPause other_reason_again{std::chrono::seconds{1}, std::chrono::seconds{1},
                                    std::chrono::minutes{5}};
        PodPause same_reason_again{std::chrono::seconds{30}, std::chrono::seconds{30},
                                   std::chrono::minutes{30}};
        std::chrono::milliseconds repeat_after{std::chrono::minutes{45}};
        std::chrono::milliseconds retry_first{1'000};
        std::chrono::milliseconds retry_cap{60'000};
        std::int32_t tries_max = 10;  // six minutes of refusals
    };
    explicit FailureLedger(Settings settings) : settings_(settings) {}

    void want(const ReportPending& report, Time now);
    void forget(const std::string& uid);

    struct Write {
        EventNote event;
        std::string series_name;  // not empty: this event exists already, and its count is raised
        std::int64_t count = 1;
    };
    // The next write that is due; counts as written until failed() is called.
    std::optional<Write> next(Time now);
    [[nodiscard]] Time next_at() const { return line_.next_at(); }
    // The event of the last next() exists now under this name.
    void posted(const std::string& uid, std::string name);
    // It was certainly not created: due again after a pause, with the newest text.
    void failed(const Write& write, Time now);
    // The event of a series is gone: due again, as a new event.
    void lost(const std::string& uid, Time now);
    [[nodiscard]] std::size_t size() const { return pods_.size(); }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    using Text = std::shared_ptr<const std::string>;  // one for all pods of a report
    using Jobs = std::map<ObjectKey, std::size_t>;    // with the number of its pods
    struct Entry {
        Entry(PodReference about, Jobs::iterator of) : pod(std::move(about)), job(of) {}
        PodReference pod;
        Jobs::iterator job;
        Reason written_reason = Reason::none;
        Text written_note;  // null: nothing was written
        std::string name;   // of the event that has it; empty: not known
        std::int64_t count = 1;
        Time written_at{};
        Text wanted;  // null: repeat the written text
        Reason wanted_reason = Reason::none;
        std::int32_t failures = 0;  // of new events, in a row
    };
    void want_one(const ObjectKey& job, const PodReference& pod, Reason reason, const Text& note,
                  Time now);
    void leave_job(Entry& entry);
    void repeat_later(const Entry& entry);

    Settings settings_;
    std::unordered_map<std::string, Entry> pods_;  // by uid
    Jobs jobs_;
    PodLine line_;
    std::uint64_t dropped_ = 0;
};

// Scheduled and Preempted: each written once, one per job in turn, until the queue is full; then
// the job with most events in it loses the newer half of them.
class SuccessLine {
public:
    explicit SuccessLine(std::size_t size_max) : size_max_(size_max) {}

    // Small, since thousands of them wait; the text is made when its turn comes.
    struct Item {
        enum class What : std::uint8_t { scheduled, preempted, drained };
        What what = What::scheduled;
        PodReference pod;
        std::string detail;  // the node; why it is evicted
        Instant at;          // when it happened
        [[nodiscard]] EventNote event() const;
    };
    void add(const ObjectKey& job, Item item);
    std::optional<Item> pop();
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Job {
        std::deque<Item> items;
        std::list<ObjectKey>::iterator turn;
    };
    void make_room();

    std::size_t size_max_;
    std::size_t size_ = 0;
    std::map<ObjectKey, Job> jobs_;
    std::list<ObjectKey> turns_;
    std::uint64_t dropped_ = 0;
};

}  // namespace gpuctl::k8s
