// Lines through the relay: each reader gets each of them once, whatever happens upstream.

#include "unit/daemon/log_relay_fixture.hpp"

namespace gpuctl::logs {
namespace {

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
    World::read_batch(*quick);
    World::read_batch(*stalled);
    for (int i = 0; i < 10; ++i) {
        write_lines(world, i * 100, i * 100 + 100);
        const bool came = co_await world.read(*quick, static_cast<std::size_t>(i * 100 + 100));
        EXPECT_TRUE(came);
    }
    World::read_batch(*stalled);
    expect_numbers(*quick, 0, 1000);
    EXPECT_EQ(quick->dropped, 0u);
    EXPECT_EQ(stalled->dropped, 800u);
    expect_numbers(*stalled, 800, 1000);
    EXPECT_EQ(world.recorder.counter(metrics::Metric::log_dropped).value(), 800u);
}

TEST(LogRelay, a_stalled_reader_loses_the_oldest_lines_with_a_count_and_blocks_no_other_reader) {
    LogRelaySettings settings = World::quick();
    settings.subscriber_lines_max = 200;
    World{settings}.run(stalled_reader);
}

aio::Task<void> resume_reader(World& world) {
    write_lines(world, 0, 50);
    auto first = world.follow(1000);
    const bool came = co_await world.read(*first, 50);
    EXPECT_TRUE(came);
    // Each position in turn: among lines of one timestamp, and at its edges.
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

TEST(LogRelay, a_position_that_is_not_stored_any_more_is_announced_as_a_gap) {
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
    World::read_batch(*reader);
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
    world.source.write(at_ms(0), std::string(997, 'x') + "end");
    world.source.write(at_ms(1), "next");
    auto reader = world.follow(10);
    const bool came = co_await world.read(*reader, 2);
    EXPECT_TRUE(came);
    EXPECT_EQ(reader->lines.at(0),
              "[line cut: 900 bytes before this] " + std::string(97, 'x') + "end");
    EXPECT_EQ(reader->lines.at(1), "next");
}

TEST(LogRelay, of_a_long_line_the_newest_part_is_stored_with_the_count_of_missing_bytes) {
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
