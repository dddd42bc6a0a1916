// The exact output of `get queues` and of the queue position in `explain`.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {
namespace {

using nlohmann::json;

std::string golden(const std::string& name) {
    std::ifstream file{std::string{GPUCTL_SOURCE_DIR} + "/tests/golden/" + name + ".txt"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

json queue(const char* name, int depth, json more) {
    json row = {{"pool", "training"},
                {"name", name},
                {"depth", depth},
                {"order", "FAIR_SHARE"},
                {"priority", 0},
                {"weight", 1},
                {"guaranteed", 0},
                {"maximum", nullptr},
                {"held", 0},
                {"entitled", 0},
                {"jobsWaiting", 0},
                {"jobsRunning", 0},
                {"gpusWaiting", 0},
                {"notLent", 0},
                {"maxJobs", nullptr},
                {"borrowingLimit", nullptr},
                {"maxGpuPerJob", nullptr},
                {"used", {{"gpus", 0}}}};
    row.update(more);
    return row;
}

json tree() {
    return {queue("default", 0, json::object()),
            queue("research", 0,
                  {{"order", "CAPACITY"},
                   {"guaranteed", 8},
                   {"maximum", 24},
                   {"held", 12},
                   {"entitled", 14.5},
                   {"jobsWaiting", 1},
                   {"jobsRunning", 3},
                   {"gpusWaiting", 8}}),
            queue("llm", 1,
                  {{"order", "FIFO"},
                   {"guaranteed", 4},
                   {"isGuaranteeValid", false},
                   {"borrowingLimit", 8},
                   {"notLent", 2},
                   {"maxJobs", 3},
                   {"maxGpuPerJob", 16},
                   {"held", 12},
                   {"entitled", 14.5},
                   {"jobsWaiting", 1},
                   {"jobsRunning", 3},
                   {"gpusWaiting", 8},
                   {"used", {{"gpus", 9.25}}}}),
            queue("old", 0, {{"declared", false}, {"held", 2}, {"jobsRunning", 1}})};
}

TEST(Queues, are_printed_as_a_tree) {
    std::ostringstream out;
    print_queues(out, tree(), false);
    EXPECT_EQ(out.str(), golden("queues"));
}

TEST(Queues, wide_shows_the_other_limits) {
    std::ostringstream out;
    print_queues(out, tree(), true);
    EXPECT_EQ(out.str(), golden("queues_wide"));
}

TEST(Turn, every_term_that_decides_is_shown) {
    std::ostringstream out;
    print_explanation(
        out,
        {{"namespace", "default"},
         {"jobId", "big"},
         {"status", "Pending"},
         {"queue", "llm"},
         {"pool", "training"},
         {"position", 2},
         {"blockers",
          {{{"sentence",
             "queue research/llm of pool training: 12 of 16 GPUs in use (maximum), 8 requested"},
            {"reason", "queue_limit"}}}},
         {"queueOrder",
          {{"order", "FAIR_SHARE"},
           {"priority", 140},
           {"priorityBase", 100},
           {"priorityByWaiting", 40},
           {"waitedMs", 240'000},
           {"deadline", "2026-11-22T10:00:00Z"},
           {"slowdownFactor", 4},
           {"latestStart", "2026-11-22T09:00:00Z"},
           {"boostFrom", "2020-11-22T08:24:00Z"},
           {"boostUntil", "2020-11-22T08:30:00Z"},
           {"runTime",
            {{"ms", 1'800'000},
             {"isRemaining", true},
             {"isDeclared", true},
             {"gpus", 4},
             {"gpuExponentPercent", 80},
             {"halfLifeMs", 86'400'000}}},
           {"ahead",
            {{"count", 3},
             {"jobs",
              {{{"namespace", "default"}, {"jobId", "first"}},
               {{"namespace", "team-b"}, {"jobId", "second"}}}}}},
           {"tenant",
            {{"name", "default"},
             {"share", 125'000'000},
             {"recentUsage", 2'500'000},
             {"weight", 2}}},
           {"queues",
            {{{"queue", "research"},
              {"order", "FAIR_SHARE"},
              {"priority", 5},
              {"guaranteed", 8},
              {"held", 12},
              {"share", 505'000'000},
              {"weight", 3}},
             {{"queue", "llm"},
              {"order", "CAPACITY"},
              {"priority", 0},
              {"guaranteed", 4},
              {"isGuaranteeValid", false},
              {"held", 12},
              {"terminating", 4},
              {"share", 500'000'000},
              {"weight", 1}}}}}}});
    EXPECT_EQ(out.str(), golden("turn"));
}

TEST(Turn, the_terms_of_a_job_are_those_of_the_order_of_its_queue) {
    const auto line_of = [](const char* order, const json& tenant) {
        std::ostringstream out;
        print_explanation(out, {{"jobId", "big"},
                                {"status", "Pending"},
                                {"blockers", {{{"sentence", "busy"}, {"reason", "turn"}}}},
                                {"queueOrder",
                                 {{"order", order},
                                  {"priority", 5},
                                  {"priorityBase", 5},
                                  {"priorityByWaiting", 0},
                                  {"waitedMs", 240'000},
                                  {"tenant", tenant}}}});
        const std::string text = out.str();
        const std::size_t from = text.find("  job (");
        return from == std::string::npos ? text : text.substr(from, text.find('\n', from) - from);
    };
    const json quota = {{"name", "a"}, {"held", 3}, {"quota", 8}, {"share", 0}, {"weight", 1}};
    const json none = {{"name", "a"}, {"held", 1}, {"quota", nullptr}};
    EXPECT_EQ(line_of("FIFO", quota), "  job (FIFO): submitted 4m ago, the oldest goes first");
    EXPECT_EQ(line_of("PRIORITY", quota), "  job (PRIORITY): priority 5 = 5 + 0 for waiting 4m");
    EXPECT_EQ(line_of("CAPACITY", quota),
              "  job (CAPACITY): namespace a holds 3 GPUs of its quota of 8, priority 5 = 5 + 0 "
              "for waiting 4m");
    EXPECT_EQ(line_of("CAPACITY", none),
              "  job (CAPACITY): namespace a holds 1 GPU of the whole pool, as it has no quota, "
              "priority 5 = 5 + 0 for waiting 4m");
    EXPECT_EQ(line_of("FAIR_SHARE", quota),
              "  job (FAIR_SHARE): priority 5 = 5 + 0 for waiting 4m, namespace a share 0.00 % / "
              "weight 1");
}

TEST(Turn, the_smallest_run_time_goes_first_where_there_is_no_deadline) {
    std::ostringstream out;
    print_explanation(out, {{"jobId", "big"},
                            {"status", "Pending"},
                            {"blockers", {{{"sentence", "busy"}, {"reason", "turn"}}}},
                            {"queueOrder",
                             {{"order", "SHORTEST"},
                              {"runTime",
                               {{"ms", 1'800'000},
                                {"isRemaining", true},
                                {"isDeclared", true},
                                {"gpus", 4},
                                {"gpuExponentPercent", 80},
                                {"halfLifeMs", 86'400'000}}}}}});
    EXPECT_NE(out.str().find(
                  "  run time (SHORTEST): 30m remaining, given by its user, times 4 GPUs to the "
                  "power of 0.80; the smallest goes first; each 1d of waiting halves it\n"),
              std::string::npos)
        << out.str();
}

TEST(Queues, budgets_have_a_column_where_there_are_any) {
    std::ostringstream without;
    json rows = tree();
    print_queues(without, rows, false);
    EXPECT_EQ(without.str().find("GPU-HOURS"), std::string::npos);
    std::ostringstream with;
    rows[1]["budget"] = {{"gpuHours", 500}, {"period", "week"}, {"used", 480.5}};
    print_queues(with, rows, false);
    EXPECT_NE(with.str().find("GPU-HOURS"), std::string::npos);
    EXPECT_NE(with.str().find("480.5/500 week"), std::string::npos) << with.str();
}

}  // namespace
}  // namespace gpuctl::cli
