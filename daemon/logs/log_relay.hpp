#pragma once
// Followed pod logs for any number of readers over one upstream per pod.
//
//   LogSource ──follow──> Channel (one per pod: splits lines, keeps a ring of history)
//                            ├── Subscription: a place in the ring
//                            └── Subscription: ...
//
// A subscriber is a place in its pod's ring, not a copy of it. A subscriber more than
// subscriber_lines_max behind loses the oldest lines and gets their count (`dropped`).
//
// The line that has no end yet (a progress bar, a prompt) is shown to readers that have all lines
// before it. It has no place in the ring and no position: a reader that resumes gets its current
// state, and the whole line at its end. Only the newest state is kept, so that a slow reader misses
// states before it misses any line.
//
// When the upstream breaks off (rotation, kubelet restart, network) it is opened again from the
// second of the last line, and lines seen before are dropped. The log is over
// when the upstream ends and the pod is terminal or gone.
//
// Thread: the loop's. Cancellation: stop() ends all upstreams; a channel without subscribers stays
// for `linger`, so that a reader that reconnects finds its place.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "daemon/logs/log_line.hpp"
#include "metrics/recorder.hpp"
#include "ports/logs.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::logs {

struct LogRelaySettings {
    std::size_t history_lines_per_pod = 10'000;
    std::size_t history_bytes_per_pod = 16u << 20;
    std::size_t subscriber_lines_max = 10'000;  // a reader further behind loses the oldest
    std::size_t line_bytes_max = 64u << 10;
    std::size_t subscribers_max = 1'024;
    std::chrono::milliseconds linger{30'000};
    std::chrono::milliseconds reopen_pause_min{100};
    std::chrono::milliseconds reopen_pause_max{5'000};
};

// Whether a pod may still write: checked when its log ends.
using StillRuns = std::function<bool(const std::string& pod_uid)>;

struct LogLine {
    Position position;
    std::string time;
    std::string text;
};

// The next data of a subscriber, in this order: gap, dropped, lines, partial, ended.
struct LogBatch {
    std::string gap;            // lines before this are not stored any more; why
    std::uint64_t dropped = 0;  // lines lost because this subscriber was too slow
    std::vector<LogLine> lines;
    std::optional<PartialLine> partial;  // replaces the previous one; if requested and new
    std::optional<Error> failed;         // the log cannot be read
    bool ended = false;                  // no more data after `lines`
};

class Channel;

// One reader's place. Destroying it unsubscribes.
class Subscription {
public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    enum class Partial : std::uint8_t { leave, take };
    // Up to `lines_max` buffered lines; never waits. If it is empty, wait on the signal given to
    // subscribe().
    LogBatch read_batch(std::size_t lines_max, Partial partial = Partial::leave);
    // Whether read_batch() would return a partial line.
    [[nodiscard]] bool has_partial() const;
    [[nodiscard]] const std::string& pod_name() const;
    [[nodiscard]] const std::string& pod_uid() const;

private:
    friend class LogRelay;
    friend class Channel;
    Subscription(std::shared_ptr<Channel> channel, std::shared_ptr<aio::Signal> signal);

    std::shared_ptr<Channel> channel_;
    std::shared_ptr<aio::Signal> signal_;
    bool placed_ = false;          // once the channel has its backlog
    std::uint64_t next_line_ = 0;  // number in the channel
    std::int64_t tail_ = 0;
    std::optional<Position> after_;
    std::string gap_;
    std::uint64_t partial_seen_ = 0;  // its serial
};

struct SubscribeRequest {
    ports::LogRequest log;  // pod, uid, container
    std::int64_t tail = 100;
    std::optional<Position> after;   // resume after this line; wins over tail
    bool other_incarnation = false;  // the token was of an earlier pod of this name
};

class LogRelay {
public:
    // `source` and `recorder` outlive this.
    LogRelay(aio::Loop& loop, ports::LogSource& source, LogRelaySettings settings,
             StillRuns still_runs, metrics::Recorder& recorder);
    ~LogRelay();
    LogRelay(const LogRelay&) = delete;
    LogRelay& operator=(const LogRelay&) = delete;

    // TooManyRequests beyond subscribers_max, ShuttingDown after stop().
    Result<std::unique_ptr<Subscription>> subscribe(SubscribeRequest request,
                                                    std::shared_ptr<aio::Signal> signal);
    [[nodiscard]] bool has_room() const;

    // The last lines, once, without following.
    aio::Task<Result<std::vector<LogLine>>> read_tail(ports::LogRequest request,
                                                      aio::Deadline deadline);

    [[nodiscard]] std::size_t upstreams() const;
    [[nodiscard]] std::size_t subscribers() const;

    aio::Task<bool> stop(aio::Deadline deadline);

private:
    friend class Channel;
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::logs
