#pragma once
// The relay against an upstream that behaves as kubelets do: it sends whole seconds again after a
// sinceTime, breaks off, rotates, and sends a line in pieces while it is written.

#include <gtest/gtest.h>

#include <utility>

#include "daemon/logs/log_relay.hpp"
#include "text/time.hpp"

namespace gpuctl::logs {

inline constexpr std::chrono::seconds kPatience{30};

inline std::string stamp(std::int64_t ns) {
    std::string text = text::format_rfc3339(ns / 1'000'000'000);
    const std::string fraction = std::to_string(1'000'000'000 + ns % 1'000'000'000).substr(1);
    text.insert(text.size() - 1, "." + fraction);
    return text;
}

// A log that the test writes, in records as container runtimes do; every stream reads the same
// ones.
class WrittenLog final : public ports::LogSource {
public:
    explicit WrittenLog(aio::Loop& loop) : changed(loop) {}

    struct Record {
        std::int64_t ns;
        std::string text;
        bool ends_line = true;
    };

    void write(std::int64_t ns, std::string text) { add({ns, std::move(text)}); }
    // A piece of a line without its end; the first piece gives the line its time.
    void begin(std::int64_t ns, std::string piece) { add({ns, std::move(piece), false}); }
    void end_line() { add({records.back().ns, ""}); }
    void end() {
        ended = true;
        changed.notify_all();
    }
    // Every open stream fails from here on, in the middle of a line.
    void cut() {
        ++generation;
        changed.notify_all();
    }
    // The pod and its log are deleted.
    void remove() {
        is_gone = true;
        cut();
    }

    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest request,
                                                              aio::Deadline) override;

    std::vector<Record> records;
    bool ended = false;
    bool is_gone = false;
    int generation = 0;
    int follows = 0;
    aio::Signal changed;

private:
    void add(Record record) {
        records.push_back(std::move(record));
        changed.notify_all();
    }
};

// As the kubelet reads: it omits records before `since_time`, counts records for `tail_lines`, and
// writes a time where a line begins, whether that record is omitted or not.
class WrittenStream final : public ports::LogStream {
public:
    WrittenStream(WrittenLog& log, ports::LogRequest request)
        : log_(log), request_(std::move(request)), generation_(log.generation) {
        if (!request_.since_time.empty()) {
            since_ = parse_stamp_ns(request_.since_time).value();
        } else if (request_.tail_lines) {
            const auto tail = static_cast<std::size_t>(*request_.tail_lines);
            next_ = log_.records.size() - std::min(tail, log_.records.size());
        }
    }

    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        for (;;) {
            if (generation_ != log_.generation) {
                if (is_new_line_) out += "2026-11-21T02:51:05Z half a li";
                generation_ = log_.generation;
                broken_ = true;
                co_return true;
            }
            if (broken_) co_return make_error(ErrorCode::UnknownOutcome, "connection reset");
            if (send(out)) co_return true;
            if (log_.ended || !request_.follow) co_return false;
            const bool notified = co_await log_.changed.wait(deadline);
            if (!notified && deadline.passed()) co_return make_error(ErrorCode::Timeout, "quiet");
            if (!notified) co_return make_error(ErrorCode::Cancelled, "stopping");
        }
    }

private:
    // Up to seven records.
    bool send(std::string& out) {
        const std::size_t before = out.size();
        for (int i = 0; i < 7 && next_ < log_.records.size(); ++next_) {
            const WrittenLog::Record& record = log_.records[next_];
            const bool begins_line = std::exchange(is_new_line_, record.ends_line);
            if (record.ns < since_) continue;
            since_ = 0;  // a clock that is set back later is a different case
            if (begins_line) out += stamp(record.ns) + " ";
            out += record.text + (record.ends_line ? "\n" : "");
            ++i;
        }
        return out.size() > before;
    }

    WrittenLog& log_;
    ports::LogRequest request_;
    int generation_;
    std::int64_t since_ = 0;
    std::size_t next_ = 0;
    bool is_new_line_ = true;
    bool broken_ = false;
};

inline aio::Task<Result<std::unique_ptr<ports::LogStream>>> WrittenLog::open(
    ports::LogRequest request, aio::Deadline) {
    if (is_gone) co_return make_error(ErrorCode::NotFound, "there is no such pod");
    follows += request.follow ? 1 : 0;
    std::unique_ptr<ports::LogStream> stream =
        std::make_unique<WrittenStream>(*this, std::move(request));
    co_return stream;
}

struct Reader {
    std::unique_ptr<Subscription> subscription;
    std::shared_ptr<aio::Signal> signal;
    std::vector<std::string> lines;
    std::vector<Position> positions;
    std::vector<PartialLine> partials;
    std::uint64_t dropped = 0;
    std::string gap;
    bool ended = false;
};

struct World {
    using Body = aio::Task<void> (*)(World&);

    explicit World(LogRelaySettings settings = quick())
        : source(loop),
          relay(loop, source, settings, [this](const std::string&) { return runs; }, recorder) {}

    static LogRelaySettings quick() {
        LogRelaySettings settings;
        settings.reopen_pause_min = std::chrono::milliseconds{1};
        settings.reopen_pause_max = std::chrono::milliseconds{5};
        settings.linger = std::chrono::milliseconds{60'000};
        return settings;
    }

    void run(Body body) {
        tasks.spawn("test body", whole(body));
        const std::function<void()> quit = [&] {
            if (tasks.size() == 0) return loop.stop();
            loop.post(quit);
        };
        quit_when_idle = quit;
        loop.run();
    }
    aio::Task<void> whole(Body body) {
        co_await body(*this);
        const aio::Deadline deadline = aio::Deadline::in(kPatience);
        const bool stopped = co_await relay.stop(deadline);
        EXPECT_TRUE(stopped);
        loop.post(quit_when_idle);
    }

    std::unique_ptr<Reader> follow(std::int64_t tail, std::optional<Position> after = {}) {
        auto reader = std::make_unique<Reader>();
        reader->signal = std::make_shared<aio::Signal>(loop);
        SubscribeRequest request;
        request.log.pod = {"default", "llm-0"};
        request.log.uid = "uid-of-llm-0";
        request.tail = tail;
        request.after = after;
        auto subscription = relay.subscribe(request, reader->signal);
        if (!subscription) return nullptr;
        reader->subscription = std::move(*subscription);
        return reader;
    }

    static void read_batch(Reader& reader) {
        for (;;) {
            LogBatch batch = reader.subscription->read_batch(64, Subscription::Partial::take);
            reader.dropped += batch.dropped;
            if (!batch.gap.empty()) reader.gap = batch.gap;
            for (LogLine& line : batch.lines) {
                reader.positions.push_back(line.position);
                reader.lines.push_back(std::move(line.text));
            }
            if (batch.partial) reader.partials.push_back(std::move(*batch.partial));
            reader.ended = batch.ended;
            if (batch.lines.empty()) return;
        }
    }

    // Reads until the reader has that many lines, or the log has ended; false: not in time.
    aio::Task<bool> read(Reader& reader, std::size_t lines) {
        const aio::Deadline deadline = aio::Deadline::in(kPatience);
        for (;;) {
            read_batch(reader);
            if (reader.ended || reader.lines.size() >= lines) co_return true;
            if (deadline.passed()) co_return false;
            const aio::Deadline slice = aio::Deadline::in(std::chrono::milliseconds{5});
            co_await reader.signal->wait(slice);
        }
    }

    // Reads until the unfinished line has this text; false: not in time.
    static aio::Task<bool> read_partial(Reader& reader, std::string text) {
        const aio::Deadline deadline = aio::Deadline::in(kPatience);
        for (;;) {
            read_batch(reader);
            if (!reader.partials.empty() && reader.partials.back().text == text) co_return true;
            if (deadline.passed()) co_return false;
            const aio::Deadline slice = aio::Deadline::in(std::chrono::milliseconds{5});
            co_await reader.signal->wait(slice);
        }
    }

    aio::Loop loop;
    metrics::Recorder recorder;
    WrittenLog source;
    bool runs = true;
    LogRelay relay;
    aio::TaskGroup tasks{loop};
    std::function<void()> quit_when_idle;
};

inline std::int64_t at_ms(std::int64_t ms) { return (1'795'000'000'000 + ms) * 1'000'000; }

// Several lines share a timestamp, and several timestamps share a second.
inline void write_lines(World& world, int from, int to) {
    for (int i = from; i < to; ++i) world.source.write(at_ms(i / 3 * 100), std::to_string(i));
}

inline void expect_numbers(const Reader& reader, int from, int to) {
    ASSERT_EQ(std::ssize(reader.lines), to - from);
    for (int i = from; i < to; ++i) {
        ASSERT_EQ(reader.lines[static_cast<std::size_t>(i - from)], std::to_string(i));
    }
}

}  // namespace gpuctl::logs
