#include "text/time.hpp"

#include <gtest/gtest.h>

namespace gpuctl::text {
namespace {

TEST(Time, is_rfc_3339_with_an_offset) {
    EXPECT_EQ(parse_time("1970-01-01T00:00:01Z"), Instant{1'000});
    EXPECT_EQ(parse_time("2026-12-01T08:00:00.25Z")->ms() % 1000, 250);
    EXPECT_EQ(parse_time("2026-12-01T09:30:00+01:30"), parse_time("2026-12-01T08:00:00Z"));
    EXPECT_EQ(parse_time("2026-12-01T03:00:00-05:00"), parse_time("2026-12-01T08:00:00Z"));
    EXPECT_EQ(format_time(*parse_time("2028-02-29T23:59:59Z")), "2028-02-29T23:59:59Z");
    for (const char* wrong :
         {"", "2026-12-01", "2026-12-01T08:00:00", "2026-13-01T08:00:00Z", "2026-02-29T08:00:00Z",
          "2026-12-01T24:00:00Z", "2026-12-01T08:60:00Z", "2026-12-01T08:00:00Z ",
          "2026-12-01T08:00:00.Z", "2026-12-01T08:00:00+1:00", "1969-12-31T23:59:59Z",
          "+026-12-01T08:00:00Z"}) {
        EXPECT_EQ(parse_time(wrong), std::nullopt) << wrong;
    }
}

TEST(Time, years_that_an_instant_cannot_hold_are_still_read) {
    ASSERT_TRUE(parse_rfc3339("0001-01-01T00:00:00Z"));
    EXPECT_EQ(parse_rfc3339("0001-01-01T00:00:00Z")->seconds, -62'135'596'800);
    EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59Z")->seconds, 253'402'300'799);
    EXPECT_EQ(parse_time("0001-01-01T00:00:00Z"), std::nullopt);
}

TEST(Time, digits_beyond_nanoseconds_are_dropped) {
    EXPECT_EQ(parse_rfc3339("2026-12-01T08:00:00.1234567899Z")->nanoseconds, 123'456'789);
}

TEST(Time, is_written_as_it_is_read) {
    for (const std::int64_t seconds : {std::int64_t{0}, std::int64_t{951'782'399},
                                       std::int64_t{1'798'761'599}, std::int64_t{-1}}) {
        const std::optional<TimeStamp> read = parse_rfc3339(format_rfc3339(seconds));
        ASSERT_TRUE(read) << seconds;
        EXPECT_EQ(read->seconds, seconds);
    }
    EXPECT_EQ(format_rfc3339(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(format_rfc3339_us(1'767'323'045'000'006), "2026-01-02T03:04:05.000006Z");
    EXPECT_EQ(format_rfc3339_us(-1), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(format_time(Instant{}), "");
}

}  // namespace
}  // namespace gpuctl::text
