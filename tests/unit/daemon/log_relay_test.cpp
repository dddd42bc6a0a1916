// The relay against an upstream that behaves as kubelets do: it sends whole seconds again after a
// sinceTime, breaks off, rotates.

#include "daemon/logs/log_relay.hpp"

#include <gtest/gtest.h>

#include <set>

namespace gpuctl::logs {
namespace {

constexpr std::chrono::seconds kPatience{30};

std::string stamp(std::int64_t ns) {
    std::string text = format_rfc3339_seconds(ns);
    const std::string fraction = std::to_string(1'000'000'000 + ns % 1'000'000'000).substr(1);
    text.insert(text.size() - 1, "." + fraction);
    return text;
}

// A log that the test writes; every stream of it reads the same lines.
class WrittenLog final : public ports::LogSource {
public:
    explicit WrittenLog(aio::Loop& loop) : changed(loop) {}

    struct Line {
        std::int64_t ns;
        std::string text;
    };

    void write(std::int64_t ns, std::string text) {
        lines.push_back({ns, std::move(text)});
        changed.notify_all();
    }
    void end() {
        ended = true;
        changed.notify_all();
    }
    // Every open stream fails from here on, in the middle of a line.
    void cut() {
        ++generation;
        changed.notify_all();
    }

    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest request,
                                                              aio::Deadline) override;

    std::vector<Line> lines;
    bool ended = false;
    int generation = 0;
    int follows = 0;
    aio::Signal changed;
};

class WrittenStream final : public ports::LogStream {
public:
    WrittenStream(WrittenLog& log, ports::LogRequest request)
        : log_(log), request_(std::move(request)), generation_(log.generation) {
        if (!request_.since_time.empty()) {
            const std::int64_t since = parse_rfc3339_ns(request_.since_time).value();
            while (next_ < log_.lines.size() && log_.lines[next_].ns < since) ++next_;
        } else if (request_.tail_lines) {
            const auto tail = static_cast<std::size_t>(*request_.tail_lines);
            next_ = log_.lines.size() - std::min(tail, log_.lines.size());
        }
    }

    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        for (;;) {
            if (generation_ != log_.generation) {
                out += "2026-11-21T02:51:05Z half a li";
                generation_ = log_.generation;
                broken_ = true;
                co_return true;
            }
            if (broken_) co_return make_error(ErrorCode::UnknownOutcome, "connection reset");
            if (next_ < log_.lines.size()) break;
            if (log_.ended || !request_.follow) co_return false;
            const bool notified = co_await log_.changed.wait(deadline);
            if (!notified && deadline.passed()) co_return make_error(ErrorCode::Timeout, "quiet");
            if (!notified) co_return make_error(ErrorCode::Cancelled, "stopping");
        }
        for (int i = 0; i < 7 && next_ < log_.lines.size(); ++i, ++next_) {
            out += stamp(log_.lines[next_].ns) + " " + log_.lines[next_].text + "\n";
        }
        co_return true;
    }

private:
    WrittenLog& log_;
    ports::LogRequest request_;
    int generation_;
    std::size_t next_ = 0;
    bool broken_ = false;
};

aio::Task<Result<std::unique_ptr<ports::LogStream>>> WrittenLog::open(ports::LogRequest request,
                                                                      aio::Deadline) {
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

    static void take(Reader& reader) {
        for (;;) {
            LogBatch batch = reader.subscription->take(64);
            reader.dropped += batch.dropped;
            if (!batch.gap.empty()) reader.gap = batch.gap;
            for (LogLine& line : batch.lines) {
                reader.positions.push_back(line.position);
                reader.lines.push_back(std::move(line.text));
            }
            reader.ended = batch.ended;
            if (batch.lines.empty()) return;
        }
    }

    // Reads on until the reader has so many lines, or the log has ended; false: not in time.
    aio::Task<bool> read(Reader& reader, std::size_t lines) {
        const aio::Deadline deadline = aio::Deadline::in(kPatience);
        for (;;) {
            take(reader);
            if (reader.ended || reader.lines.size() >= lines) co_return true;
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

std::int64_t at_ms(std::int64_t ms) { return (1'795'000'000'000 + ms) * 1'000'000; }

// Several lines share a timestamp, and several timestamps share a second.
void write_lines(World& world, int from, int to) {
    for (int i = from; i < to; ++i) world.source.write(at_ms(i / 3 * 100), std::to_string(i));
}

void expect_numbers(const Reader& reader, int from, int to) {
    ASSERT_EQ(std::ssize(reader.lines), to - from);
    for (int i = from; i < to; ++i) {
        ASSERT_EQ(reader.lines[static_cast<std::size_t>(i - from)], std::to_string(i));
    }
}

aio::Task<void> fifty_readers(World& world) {
    write_lines(world, 0, 100);
    std::vector<std::unique_ptr<Reader>> readers;
    for (int i = 0; i < 50; ++i) readers.push_back(world.follow(10));
    const bool first = co_await world.read(*readers.front(), 10);
    EXPECT_TRUE(first);
    for (int burst = 1; burst <= 10; ++burst) {
        write_lines(world, burst * 100, burst * 100 + 100);
        for (auto& reader : readers) {
            const bool came =
                co_await world.read(*reader, static_cast<std::size_t>(10 + burst * 100));
            EXPECT_TRUE(came);
        }
    }
    for (const auto& reader : readers) expect_numbers(*reader, 90, 1100);
    EXPECT_EQ(world.relay.upstreams(), 1u);
    EXPECT_EQ(world.source.follows, 1) << "one upstream, however many read";
    EXPECT_EQ(world.relay.subscribers(), 50u);
}

TEST(LogRelay, fifty_readers_see_the_same_lines_over_one_upstream) { World{}.run(fifty_readers); }

aio::Task<void> stalled_reader(World& world) {
    auto quick = world.follow(0);
    auto stalled = world.follow(0);
    const aio::Deadline soon = aio::Deadline::in(std::chrono::milliseconds{20});
    co_await aio::sleep_until(soon);
    World::take(*quick);
    World::take(*stalled);
    for (int i = 0; i < 10; ++i) {
        write_lines(world, i * 100, i * 100 + 100);
        const bool came = co_await world.read(*quick, static_cast<std::size_t>(i * 100 + 100));
        EXPECT_TRUE(came);
    }
    World::take(*stalled);
    expect_numbers(*quick, 0, 1000);
    EXPECT_EQ(quick->dropped, 0u);
    EXPECT_EQ(stalled->dropped, 800u);
    expect_numbers(*stalled, 800, 1000);
    EXPECT_EQ(world.recorder.counter(metrics::Metric::log_dropped).value(), 800u);
}

TEST(LogRelay, a_stalled_reader_loses_the_oldest_lines_is_told_and_holds_up_nobody) {
    LogRelaySettings settings = World::quick();
    settings.subscriber_lines_max = 200;
    World{settings}.run(stalled_reader);
}

aio::Task<void> resume_reader(World& world) {
    write_lines(world, 0, 50);
    auto first = world.follow(1000);
    const bool came = co_await world.read(*first, 50);
    EXPECT_TRUE(came);
    // Each place in turn: among lines of one timestamp, and at its edges.
    for (std::size_t cut = 0; cut < 50; ++cut) {
        auto second = world.follow(1000, first->positions[cut]);
        const bool rest = co_await world.read(*second, 49 - cut);
        EXPECT_TRUE(rest);
        expect_numbers(*second, static_cast<int>(cut) + 1, 50);
        EXPECT_EQ(second->gap, "");
    }
}

TEST(LogRelay, a_reader_resumes_where_it_was_without_loss_or_repeat) { World{}.run(resume_reader); }

aio::Task<void> resume_too_late(World& world) {
    write_lines(world, 0, 50);
    auto first = world.follow(1000);
    const bool came = co_await world.read(*first, 50);
    EXPECT_TRUE(came);
    for (int from = 50; from < 500; from += 50) {
        write_lines(world, from, from + 50);
        const bool more = co_await world.read(*first, static_cast<std::size_t>(from + 50));
        EXPECT_TRUE(more);
    }
    auto second = world.follow(1000, first->positions[10]);
    const bool rest = co_await world.read(*second, 100);
    EXPECT_TRUE(rest);
    EXPECT_NE(second->gap, "");
    expect_numbers(*second, 400, 500);
}

TEST(LogRelay, a_place_that_is_no_longer_kept_is_announced_as_a_gap) {
    LogRelaySettings settings = World::quick();
    settings.history_lines_per_pod = 100;
    World{settings}.run(resume_too_late);
}

aio::Task<void> cut_upstream(World& world) {
    write_lines(world, 0, 20);
    auto reader = world.follow(1000);
    const bool came = co_await world.read(*reader, 20);
    EXPECT_TRUE(came);
    for (int round = 1; round <= 8; ++round) {
        world.source.cut();
        write_lines(world, round * 20, round * 20 + 20);
        const bool more = co_await world.read(*reader, static_cast<std::size_t>(round * 20 + 20));
        EXPECT_TRUE(more);
    }
    expect_numbers(*reader, 0, 180);
    EXPECT_GE(world.source.follows, 8);
    EXPECT_GE(world.recorder.counter(metrics::Metric::log_reopens).value(), 7u);
}

TEST(LogRelay, a_broken_upstream_is_opened_again_without_loss_or_repeat) {
    World{}.run(cut_upstream);
}

aio::Task<void> step_clock_back(World& world) {
    write_lines(world, 0, 10);
    auto reader = world.follow(1000);
    const bool came = co_await world.read(*reader, 10);
    EXPECT_TRUE(came);
    for (int i = 10; i < 20; ++i) world.source.write(at_ms(-60'000 + i), std::to_string(i));
    const bool more = co_await world.read(*reader, 20);
    EXPECT_TRUE(more);
    expect_numbers(*reader, 0, 20);
    EXPECT_TRUE(std::is_sorted(reader->positions.begin(), reader->positions.end()));
}

TEST(LogRelay, lines_after_a_clock_stepped_back_are_not_lost) { World{}.run(step_clock_back); }

aio::Task<void> end_of_log(World& world) {
    write_lines(world, 0, 5);
    auto reader = world.follow(1000);
    const bool came = co_await world.read(*reader, 5);
    EXPECT_TRUE(came);
    world.source.end();
    const aio::Deadline while_running = aio::Deadline::in(std::chrono::milliseconds{30});
    co_await aio::sleep_until(while_running);
    World::take(*reader);
    EXPECT_FALSE(reader->ended) << "the pod still runs: its container may come back";
    world.runs = false;
    const bool ended = co_await world.read(*reader, 1000);
    EXPECT_TRUE(ended && reader->ended);
    expect_numbers(*reader, 0, 5);
}

TEST(LogRelay, a_log_is_over_when_its_stream_ends_and_its_pod_is_done) { World{}.run(end_of_log); }

aio::Task<void> too_many(World& world) {
    auto first = world.follow(0);
    auto second = world.follow(0);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(world.relay.has_room());
    EXPECT_EQ(world.follow(0), nullptr);
    first.reset();
    EXPECT_TRUE(world.relay.has_room());
    EXPECT_NE(world.follow(0), nullptr);
    co_return;
}

TEST(LogRelay, readers_beyond_the_limit_are_refused_until_one_leaves) {
    LogRelaySettings settings = World::quick();
    settings.subscribers_max = 2;
    World{settings}.run(too_many);
}

aio::Task<void> long_line(World& world) {
    world.source.write(at_ms(0), std::string(1'000, 'x'));
    world.source.write(at_ms(1), "next");
    auto reader = world.follow(10);
    const bool came = co_await world.read(*reader, 2);
    EXPECT_TRUE(came);
    EXPECT_EQ(reader->lines.at(0), std::string(100, 'x') + " [line cut: 900 more bytes]");
    EXPECT_EQ(reader->lines.at(1), "next");
}

TEST(LogRelay, a_long_line_is_cut_and_marked) {
    LogRelaySettings settings = World::quick();
    settings.line_bytes_max = 100;
    World{settings}.run(long_line);
}

aio::Task<void> read_once(World& world) {
    write_lines(world, 0, 500);
    ports::LogRequest request;
    request.tail_lines = 20;
    const aio::Deadline deadline = aio::Deadline::in(kPatience);
    Result<std::vector<LogLine>> lines = co_await world.relay.read_tail(request, deadline);
    EXPECT_TRUE(lines);
    EXPECT_EQ(lines->size(), 20u);
    EXPECT_EQ(lines->front().text, "480");
    EXPECT_EQ(world.relay.upstreams(), 0u);
}

TEST(LogRelay, the_last_lines_are_read_without_following) { World{}.run(read_once); }

}  // namespace
}  // namespace gpuctl::logs
