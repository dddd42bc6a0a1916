#pragma once
// One pod's log: the upstream, the ring of recent lines, and its readers. Private to logs/.

#include <deque>
#include <vector>

#include "daemon/logs/log_relay.hpp"

namespace gpuctl::logs {

// What a channel needs from its relay; lives in LogRelay::Parts, which outlives every channel task.
struct ChannelContext {
    ports::LogSource& source;
    const LogRelaySettings& settings;
    StillRuns still_runs;
    metrics::Counter& lines;
    metrics::Counter& dropped;
    metrics::Counter& reopens;
};

class Channel : public std::enable_shared_from_this<Channel> {
public:
    Channel(ChannelContext& context, ports::LogRequest log);

    // Reads the log until it ends, has had no reader for `linger`, or is `abandoned()`.
    aio::Task<void> run(std::shared_ptr<Channel> self);

    void add(Subscription& subscription);
    void remove(Subscription& subscription);
    LogBatch read_batch(Subscription& subscription, std::size_t lines_max, bool with_partial);
    [[nodiscard]] bool has_partial_for(const Subscription& subscription) const;

    [[nodiscard]] const ports::LogRequest& log() const { return log_; }
    [[nodiscard]] std::size_t readers() const { return readers_.size(); }
    [[nodiscard]] bool finished() const { return finished_; }
    void abandon();

private:
    aio::Task<void> read_backlog();
    aio::Task<Result<void>> follow_once();
    // The lines that the splitter found in new bytes.
    void accept(std::vector<RawLine>& lines);
    bool is_partial_due();
    // Whether the line repeats one from before the upstream was reopened.
    [[nodiscard]] bool shows_partial() const;
    void finish_line();
    void store_line(RawLine line);
    void place(Subscription& subscription);
    void notify();
    void finish(std::optional<Error> failed);
    [[nodiscard]] bool unwanted() const;

    ChannelContext& context_;
    ports::LogRequest log_;
    LineSplitter splitter_;
    std::deque<LogLine> ring_;
    std::uint64_t first_number_ = 0;  // of ring_.front()
    std::size_t ring_bytes_ = 0;
    bool lost_head_ = false;  // lines before the ring existed and are not stored
    Position last_{0, -1};
    bool catching_up_ = false;            // upstream was reopened: repeats come first
    Position catch_up_{0, -1};            // how far the repeats have come
    std::uint64_t partial_notified_ = 0;  // its serial, when readers were last woken for it
    bool partial_waits_ = false;          // readers will be woken when it is time
    aio::Clock::time_point next_partial_at_{};
    bool backlog_read_ = false;
    bool finished_ = false;
    bool abandoned_ = false;
    std::optional<Error> failed_;
    std::vector<Subscription*> readers_;
    aio::Clock::time_point unwanted_since_ = aio::Clock::now();
};

}  // namespace gpuctl::logs
