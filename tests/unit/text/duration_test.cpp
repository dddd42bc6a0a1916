#include "text/duration.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace gpuctl::text {
namespace {

TEST(Duration, is_a_sum_of_units_from_the_largest_to_the_smallest) {
    EXPECT_EQ(parse_duration("1h30m"), gpuctl::Duration{5'400'000});
    EXPECT_EQ(parse_duration("500ms"), gpuctl::Duration{500});
    for (const char* wrong : {"", "5", "h", "30m1h", "1h1h", "-5s", "1.5h", "101y", "40000d"}) {
        EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
    }
    EXPECT_EQ(format_duration(gpuctl::Duration{90'000}), "90s");
    EXPECT_EQ(format_duration(gpuctl::Duration{7'200'000}), "2h");
}

TEST(Age, is_rounded_down_to_its_largest_unit) {
    EXPECT_EQ(format_age(59), "59s");
    EXPECT_EQ(format_age(60), "1m");
    EXPECT_EQ(format_age(3599), "59m");
    EXPECT_EQ(format_age(86399), "23h");
    EXPECT_EQ(format_age(200000), "2d");
    EXPECT_EQ(format_age(-1), "N/A");
}

TEST(Span, an_earliest_time_is_rounded_down_and_a_latest_one_up) {
    const std::tuple<std::int64_t, const char*, const char*, const char*> table[] = {
        {-5, "0s", "0s", "0s"},
        {59, "59s", "59s", "59s"},
        {61, "1m1s", "1m", "1m1s"},
        {119, "1m59s", "2m", "1m59s"},
        {3'599, "59m59s", "1h", "59m59s"},
        {3'600, "1h", "1h", "1h"},
        {7'171, "1h59m", "2h", "2h"},
        {7'201, "2h", "2h", "2h1m"},
        {86'399, "23h59m", "1d", "1d"},
        {97'199, "1d2h", "1d3h", "1d3h"},
    };
    for (const auto& [seconds, down, nearest, up] : table) {
        EXPECT_EQ(format_span(seconds, Rounding::down), down) << seconds;
        EXPECT_EQ(format_span(seconds, Rounding::nearest), nearest) << seconds;
        EXPECT_EQ(format_span(seconds, Rounding::up), up) << seconds;
    }
}

}  // namespace
}  // namespace gpuctl::text
