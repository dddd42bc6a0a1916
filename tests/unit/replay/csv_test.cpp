#include "sim/replay/csv.hpp"

#include <gtest/gtest.h>

namespace gpuctl::replay {
namespace {

std::string first_error(const std::string& text) {
    CsvReader csv("jobs.csv", text);
    const auto run = csv.column("run_s");
    const auto gpus = csv.column("num_gpu");
    while (csv.next_row()) {
        csv.seconds(run);
        csv.integer(gpus, 1, 8);
    }
    return csv.error() ? csv.error()->message : "";
}

TEST(Csv, names_file_line_and_column_of_what_is_wrong) {
    EXPECT_EQ(first_error("run_s,num_gpu\n10,1\n20,many\n"),
              "jobs.csv:3:4: num_gpu `many` is not a whole number");
    EXPECT_EQ(first_error("run_s,num_gpu\n\n-3,1\n"),
              "jobs.csv:3:1: run_s `-3` is not a number of seconds between 0 and 1000000000");
    EXPECT_EQ(first_error("run_s,num_gpu\n10,9\n"),
              "jobs.csv:2:4: num_gpu `9` is not between 1 and 8");
    EXPECT_EQ(first_error("run_s,num_gpu\n10\n"),
              "jobs.csv:2:1: the row has 1 fields, the header 2");
    EXPECT_EQ(first_error("run_s,num_gpu\n\"10,1\n"),
              "jobs.csv:2:1: a quote is opened and not closed on this line");
    EXPECT_EQ(first_error("run_s,gpus\n10,1\n"),
              "jobs.csv:1:1: there is no column num_gpu (there are: run_s, gpus)");
    EXPECT_EQ(first_error("run_s,num_gpu,run_s\n10,1,20\n"),
              "jobs.csv:1:1: column run_s is there twice");
    EXPECT_EQ(first_error(""),
              "jobs.csv:1:1: the file is empty; the first line must name the columns");
}

TEST(Csv, first_error_ends_the_reading) {
    EXPECT_EQ(first_error("run_s,num_gpu\nx,y\nz,z\n"),
              "jobs.csv:2:1: run_s `x` is not a number of seconds between 0 and 1000000000");
}

TEST(Csv, reads_quotes_carriage_returns_byte_order_mark_and_a_last_line_without_end) {
    CsvReader csv("jobs.csv", "\xef\xbb\xbfname,run_s\r\n\"a, b\",1.0005\r\nc,2");
    const auto name = csv.column("name");
    const auto run = csv.column("run_s");
    ASSERT_TRUE(csv.next_row());
    EXPECT_EQ(csv.text(name), "a, b");
    EXPECT_EQ(csv.seconds(run), Duration{1001});
    ASSERT_TRUE(csv.next_row());
    EXPECT_EQ(csv.text(name), "c");
    EXPECT_EQ(csv.seconds(run), Duration{2000});
    EXPECT_FALSE(csv.next_row());
    EXPECT_FALSE(csv.error());
}

TEST(Csv, seconds_are_exact_to_the_millisecond) {
    CsvReader csv("jobs.csv", "run_s\n4540029.773\n0.1\n1000000000\n1000000001\n1.\n1.2x\n");
    const auto run = csv.column("run_s");
    const std::int64_t expected[] = {4'540'029'773, 100, 1'000'000'000'000};
    for (const std::int64_t ms : expected) {
        ASSERT_TRUE(csv.next_row());
        EXPECT_EQ(csv.seconds(run).ms(), ms);
    }
    ASSERT_TRUE(csv.next_row());
    csv.seconds(run);
    EXPECT_TRUE(csv.error());
}

}  // namespace
}  // namespace gpuctl::replay
