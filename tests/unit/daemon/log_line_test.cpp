#include "daemon/logs/log_line.hpp"

#include <gtest/gtest.h>

namespace gpuctl::logs {
namespace {

TEST(LogTime, reads_what_kubelets_write) {
    const std::int64_t base = parse_stamp_ns("2026-11-21T02:51:05Z").value();
    EXPECT_EQ(base % 1'000'000'000, 0);
    EXPECT_EQ(parse_stamp_ns("2026-11-21T02:51:05.123456789Z"), base + 123'456'789);
    EXPECT_EQ(parse_stamp_ns("2026-11-21T02:51:05.5Z"), base + 500'000'000);
    EXPECT_EQ(parse_stamp_ns("2026-11-21T04:51:05+02:00"), base);
    EXPECT_EQ(parse_stamp_ns("1970-01-01T00:00:00Z"), 0);
}

TEST(LogTime, refuses_text_that_is_not_a_time) {
    for (const char* text :
         {"", "2026-11-21", "2026-11-21T02:51:05", "2026-13-21T02:51:05Z", "2026-02-30T02:51:05Z",
          "2026-11-21T24:51:05Z", "2026-11-21T02:51:05+2", "INFO: hello", "9999-11-21T02:51:05Z"}) {
        EXPECT_FALSE(parse_stamp_ns(text)) << text;
    }
}

TEST(LogToken, is_read_back_and_nothing_else_is) {
    const std::string one = format_token("uid-1", {123, 4});
    const auto tokens = parse_tokens(one + "," + format_token("uid-2", {5, 0}));
    ASSERT_TRUE(tokens);
    ASSERT_EQ(tokens->size(), 2u);
    EXPECT_EQ(tokens->at(0).pod_hash, pod_hash("uid-1"));
    EXPECT_EQ(tokens->at(0).position, (Position{123, 4}));
    EXPECT_TRUE(parse_tokens("")->empty());
    for (const char* text : {"x", "0123456789abcdef.1", "0123456789abcdef.1.x",
                             "0123456789abcdef.1.2.3", "..", "short.1.2"}) {
        EXPECT_FALSE(parse_tokens(text)) << text;
    }
}

std::vector<RawLine> split(LineSplitter& splitter, std::string_view bytes) {
    std::vector<RawLine> lines;
    splitter.feed(bytes, lines);
    return lines;
}

TEST(LineSplitter, puts_lines_together_however_they_arrive) {
    const std::string text = "2026-11-21T02:51:05Z one\n2026-11-21T02:51:06Z \nno stamp\n";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        LineSplitter splitter{100};
        std::vector<RawLine> lines;
        for (std::size_t at = 0; at < text.size(); at += step) {
            splitter.feed(std::string_view{text}.substr(at, step), lines);
        }
        ASSERT_EQ(lines.size(), 3u) << step;
        EXPECT_EQ(lines[0].time, "2026-11-21T02:51:05Z");
        EXPECT_EQ(lines[0].text, "one");
        EXPECT_EQ(lines[1].text, "");
        EXPECT_EQ(lines[2].time, "");
        EXPECT_EQ(lines[2].text, "no stamp");
    }
}

TEST(LineSplitter, a_line_without_end_costs_no_more_than_its_limit_and_keeps_its_newest_part) {
    LineSplitter splitter{10};
    const std::string stamp = "2026-11-21T02:51:05Z ";
    EXPECT_TRUE(split(splitter, stamp).empty());
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(split(splitter, std::string(100, 'x')).empty());
    EXPECT_TRUE(split(splitter, "the newest").empty());
    const std::vector<RawLine> lines = split(splitter, "\nnext\n");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].time, "2026-11-21T02:51:05Z");
    EXPECT_EQ(lines[0].text, "the newest");
    EXPECT_EQ(lines[0].bytes_cut, 100'000u);
    EXPECT_EQ(lines[1].text, "next");
    EXPECT_EQ(lines[1].bytes_cut, 0u);
}

TEST(LineSplitter, a_cut_is_not_inside_a_character) {
    for (std::size_t limit = 8; limit < 14; ++limit) {
        for (std::size_t step : {1u, 3u, 200u}) {
            LineSplitter splitter{limit};
            std::string text;
            for (int i = 0; i < 20; ++i) text += "\u00fc\u4e2d";
            text += "\n";
            std::vector<RawLine> lines;
            for (std::size_t at = 0; at < text.size(); at += step) {
                splitter.feed(std::string_view{text}.substr(at, step), lines);
            }
            ASSERT_EQ(lines.size(), 1u);
            EXPECT_LE(lines[0].text.size(), limit);
            EXPECT_NE(static_cast<unsigned char>(lines[0].text[0]) & 0xc0, 0x80) << lines[0].text;
            EXPECT_EQ(lines[0].text.size() + lines[0].bytes_cut, text.size() - 1);
        }
    }
}

TEST(LineSplitter, shows_an_unfinished_line_however_it_arrives) {
    const std::string text = "2026-11-21T02:51:05Z one\n2026-11-21T02:51:06Z  5%\r 10%";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        LineSplitter splitter{100};
        std::vector<RawLine> lines;
        for (std::size_t at = 0; at < text.size(); at += step) {
            const std::uint64_t before = splitter.partial_serial();
            splitter.feed(std::string_view{text}.substr(at, step), lines);
            EXPECT_NE(splitter.partial_serial(), before);
        }
        EXPECT_EQ(lines.size(), 1u);
        ASSERT_TRUE(splitter.has_partial());
        EXPECT_EQ(splitter.partial().time, "2026-11-21T02:51:06Z") << step;
        EXPECT_EQ(splitter.partial().text, " 10%") << step;
        EXPECT_TRUE(splitter.partial().redrawn);
        splitter.finish(lines);
        EXPECT_EQ(lines.back().text, " 5%\r 10%");
        EXPECT_FALSE(splitter.has_partial());
    }
    LineSplitter splitter{100};
    std::vector<RawLine> lines;
    splitter.feed("2026-11-21T02:51:05Z ", lines);
    EXPECT_FALSE(splitter.has_partial()) << "its time alone is nothing to show";
}

TEST(LineSplitter, an_unfinished_line_counts_only_at_the_end_of_the_log) {
    LineSplitter splitter{100};
    EXPECT_TRUE(split(splitter, "half").empty());
    splitter.forget_partial();
    EXPECT_TRUE(split(splitter, "other").empty());
    std::vector<RawLine> lines;
    splitter.finish(lines);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].text, "other");
}

}  // namespace
}  // namespace gpuctl::logs
