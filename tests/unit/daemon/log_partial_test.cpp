// Lines that are shown while they are written: progress bars, prompts. Each replaces the one
// before, none moves the position, and the complete line comes at its end.

#include "unit/daemon/log_relay_fixture.hpp"

namespace gpuctl::logs {
namespace {

aio::Task<void> progress_bar(World& world) {
    world.source.write(at_ms(0), "before");
    auto reader = world.follow(100);
    for (int percent = 0; percent <= 100; percent += 10) {
        const std::string drawn = std::to_string(percent) + "%";
        world.source.begin(at_ms(1), (percent == 0 ? "" : "\r") + drawn);
        const bool shown = co_await World::read_partial(*reader, drawn);
        EXPECT_TRUE(shown) << drawn;
        EXPECT_EQ(reader->partials.back().redrawn, percent > 0);
        EXPECT_EQ(reader->partials.back().time, stamp(at_ms(1)));
    }
    EXPECT_EQ(reader->lines, std::vector<std::string>{"before"});
    EXPECT_EQ(reader->positions.size(), 1u);
    const std::size_t shown = reader->partials.size();
    world.source.end_line();
    world.source.write(at_ms(2), "after");
    const bool came = co_await world.read(*reader, 3);
    EXPECT_TRUE(came);
    EXPECT_EQ(reader->lines.at(1), "0%\r10%\r20%\r30%\r40%\r50%\r60%\r70%\r80%\r90%\r100%");
    EXPECT_EQ(reader->lines.at(2), "after");
    EXPECT_EQ(reader->partials.size(), shown) << "a line with its end is partial no more";
}

TEST(LogPartial, a_bar_is_shown_as_it_is_redrawn_and_is_one_line_at_its_end) {
    World{}.run(progress_bar);
}

aio::Task<void> growing(World& world) {
    auto reader = world.follow(100);
    std::string line;
    for (const char* piece : {"Loading", " .", ".", ". ", "done"}) {
        world.source.begin(at_ms(0), piece);
        line += piece;
        const bool shown =
            co_await World::read_partial(*reader, line.substr(0, line.find_last_not_of(' ') + 1));
        EXPECT_TRUE(shown) << line;
        EXPECT_FALSE(reader->partials.back().redrawn);
    }
    EXPECT_TRUE(reader->lines.empty());
}

TEST(LogPartial, a_line_that_grows_is_shown_as_far_as_it_is) { World{}.run(growing); }

// Each way of joining while a line is unfinished: at once, and after any line before it.
aio::Task<void> resume_in_a_line(World& world) {
    write_lines(world, 0, 20);
    auto first = world.follow(1000);
    const bool came = co_await world.read(*first, 20);
    EXPECT_TRUE(came);
    world.source.begin(at_ms(700), "5%");
    const bool shown = co_await World::read_partial(*first, "5%");
    EXPECT_TRUE(shown);
    std::vector<std::unique_ptr<Reader>> readers;
    for (const Position& position : first->positions) readers.push_back(world.follow(10, position));
    for (auto& reader : readers) {
        const bool partial = co_await World::read_partial(*reader, "5%");
        EXPECT_TRUE(partial) << "a reader that resumes gets the line as it is";
    }
    world.source.begin(at_ms(700), "\r100%");
    world.source.end_line();
    world.source.write(at_ms(800), "last");
    for (std::size_t i = 0; i < readers.size(); ++i) {
        const std::size_t wanted = 19 - i + 2;
        const bool rest = co_await world.read(*readers[i], wanted);
        EXPECT_TRUE(rest);
        EXPECT_EQ(readers[i]->lines.size(), wanted);
        EXPECT_EQ(readers[i]->lines.at(wanted - 2), "5%\r100%");
        EXPECT_EQ(readers[i]->lines.back(), "last");
    }
}

TEST(LogPartial, a_reader_that_resumes_gets_every_whole_line_once) {
    World{}.run(resume_in_a_line);
}

aio::Task<void> cut_in_a_line(World& world) {
    write_lines(world, 0, 10);
    auto reader = world.follow(1000);
    const bool came = co_await world.read(*reader, 10);
    EXPECT_TRUE(came);
    for (int round = 0; round < 6; ++round) {
        const std::int64_t at =
            at_ms(1'000 + round * 300);  // often in the second of the one before
        const std::string name = "bar " + std::to_string(round);
        world.source.begin(at, name);
        const bool shown = co_await World::read_partial(*reader, name);
        EXPECT_TRUE(shown);
        const std::size_t before = reader->partials.size();
        world.source.cut();
        world.source.begin(at, " done");
        const bool again = co_await World::read_partial(*reader, name + " done");
        EXPECT_TRUE(again);
        for (std::size_t i = before; i < reader->partials.size(); ++i) {
            EXPECT_TRUE(reader->partials[i].text.starts_with(name)) << reader->partials[i].text;
        }
        world.source.end_line();
        const bool whole = co_await world.read(*reader, static_cast<std::size_t>(11 + round));
        EXPECT_TRUE(whole);
        EXPECT_EQ(reader->lines.back(), name + " done");
    }
    EXPECT_EQ(reader->lines.size(), 16u);
}

TEST(LogPartial, an_upstream_cut_inside_a_line_neither_loses_nor_repeats_nor_shows_old_lines) {
    World{}.run(cut_in_a_line);
}

// A line begins with the time of its first record. From the second of the next line on, the kubelet
// first sends the end of the long line, without a time.
aio::Task<void> cut_behind_a_long_line(World& world) {
    write_lines(world, 0, 3);
    auto reader = world.follow(1000);
    for (int round = 0; round < 4; ++round) {
        const std::int64_t second = 60'000 * (round + 1);
        world.source.begin(at_ms(second), "0%");
        for (int i = 1; i <= 30; ++i)
            world.source.begin(at_ms(second + i * 1'000), "\r" + std::to_string(i));
        world.source.begin(at_ms(second + 30'100), "\r100%");
        world.source.end_line();
        world.source.write(at_ms(second + 30'200), "after " + std::to_string(round));
        const auto wanted = static_cast<std::size_t>(3 + 2 * (round + 1));
        const bool came = co_await world.read(*reader, wanted);
        EXPECT_TRUE(came);
        world.source.cut();
        const aio::Deadline reopened = aio::Deadline::in(std::chrono::milliseconds{30});
        co_await aio::sleep_until(reopened);
    }
    World::read_batch(*reader);
    EXPECT_EQ(reader->lines.size(), 11u);
    for (std::size_t i = 0; i < 4 && reader->lines.size() == 11; ++i) {
        EXPECT_TRUE(reader->lines[3 + 2 * i].starts_with("0%\r1\r")) << reader->lines[3 + 2 * i];
        EXPECT_EQ(reader->lines[4 + 2 * i], "after " + std::to_string(i));
    }
    EXPECT_GE(world.source.follows, 4);
}

TEST(LogPartial, the_repeated_end_of_a_long_line_without_its_time_is_no_line) {
    World{}.run(cut_behind_a_long_line);
}

aio::Task<void> slow_reader(World& world) {
    auto slow = world.follow(0);
    const aio::Deadline soon = aio::Deadline::in(std::chrono::milliseconds{20});
    co_await aio::sleep_until(soon);
    World::read_batch(*slow);
    auto quick = world.follow(0);
    for (int i = 0; i < 300; ++i) {
        world.source.begin(at_ms(i), "\r" + std::to_string(i));
        if (i % 3 == 2) world.source.end_line();
    }
    world.source.begin(at_ms(1'000), "newest");
    const bool shown = co_await World::read_partial(*quick, "newest");
    EXPECT_TRUE(shown);
    LogBatch batch = slow->subscription->read_batch(64, Subscription::Partial::take);
    EXPECT_EQ(batch.lines.size(), 64u);
    EXPECT_FALSE(batch.partial) << "lines come first";
    batch = slow->subscription->read_batch(64, Subscription::Partial::take);
    EXPECT_EQ(batch.lines.size(), 36u);
    EXPECT_TRUE(batch.partial && batch.partial->text == "newest") << "no state between is kept";
    EXPECT_FALSE(slow->subscription->has_partial());
    batch = slow->subscription->read_batch(64, Subscription::Partial::take);
    EXPECT_FALSE(batch.partial) << "the same one is given once";
    EXPECT_EQ(slow->dropped, 0u);
    world.source.begin(at_ms(1'000), " still");
    const bool more = co_await World::read_partial(*quick, "newest still");
    EXPECT_TRUE(more);
    EXPECT_TRUE(slow->subscription->has_partial());
    EXPECT_FALSE(slow->subscription->read_batch(64).partial)
        << "only a reader that asks for it gets it";
}

TEST(LogPartial, a_slow_reader_gets_its_lines_first_and_then_the_newest_state) {
    World{}.run(slow_reader);
}

aio::Task<void> overlong(World& world) {
    auto reader = world.follow(10);
    std::string line;
    for (int i = 0; i < 50; ++i) {
        line += "\r" + std::to_string(i) + " " + std::string(20, '#');
        world.source.begin(at_ms(0), line.substr(line.rfind('\r')));
    }
    const bool shown = co_await World::read_partial(*reader, "49 " + std::string(20, '#'));
    EXPECT_TRUE(shown) << "the newest of a line that is longer than lines may be";
    world.source.end_line();
    const bool came = co_await world.read(*reader, 1);
    EXPECT_TRUE(came);
    EXPECT_TRUE(reader->lines.at(0).starts_with("[line cut: ")) << reader->lines.at(0);
    EXPECT_TRUE(reader->lines.at(0).ends_with("\r49 " + std::string(20, '#')));
}

TEST(LogPartial, of_a_bar_that_is_redrawn_for_hours_the_newest_is_shown_and_kept) {
    LogRelaySettings settings = World::quick();
    settings.line_bytes_max = 100;
    World{settings}.run(overlong);
}

aio::Task<void> last_words(World& world) {
    world.source.write(at_ms(0), "one");
    auto reader = world.follow(10);
    world.source.begin(at_ms(1), "last wor");
    const bool shown = co_await World::read_partial(*reader, "last wor");
    EXPECT_TRUE(shown);
    world.runs = false;
    world.source.remove();
    const bool ended = co_await world.read(*reader, 100);
    EXPECT_TRUE(ended && reader->ended);
    EXPECT_EQ(reader->lines, (std::vector<std::string>{"one", "last wor"}));
}

TEST(LogPartial, an_unfinished_line_of_a_removed_pod_is_its_last_line) { World{}.run(last_words); }

}  // namespace
}  // namespace gpuctl::logs
