// Budgets of GPU time in gpuctld.yaml: values, and messages about wrong ones.

#include <gtest/gtest.h>

#include "daemon/config/load.hpp"
#include "text/time.hpp"

namespace gpuctl::config {
namespace {

std::string with_budget(const std::string& members) {
    return "policy:\n  pools:\n    - name: p\n      queues:\n        - name: lab\n          "
           "budget: {" +
           members + "}\n";
}

void expect_refusal(const std::string& yaml, const std::string& text) {
    const Result<Config> read = parse(yaml, "test.yaml");
    const std::string message = read ? "accepted" : read.error().message;
    EXPECT_NE(message.find(text), std::string::npos) << message;
}

BudgetPolicy read(const std::string& members) {
    const Result<Config> config = parse(with_budget(members), "test.yaml");
    EXPECT_TRUE(config) << config.error().message;
    if (!config) return {};
    return config->policy.pools.at(0).queues.at(0).budget.value_or(BudgetPolicy{});
}

TEST(BudgetConfiguration, a_budget_is_read_with_all_its_keys) {
    BudgetPolicy budget;
    budget.amount = GpuTime{500 * kGpuTimePerGpuHour};
    budget.carry_over = GpuTime{kGpuTimePerGpuHour / 2};
    EXPECT_EQ(read("gpuHours: 500, period: week, carryOver: 0.5"), budget);
    budget.carry_over = {};
    budget.period = Duration{};
    budget.anchor = Instant{};
    EXPECT_EQ(read("gpuHours: 500, period: month"), budget);
    budget.period = kDay * 30;
    budget.anchor = *text::parse_time("2026-12-01T00:00:00Z");
    EXPECT_EQ(read("gpuHours: 500, period: 30d, start: 2026-12-01T00:00:00Z"), budget);
}

TEST(BudgetConfiguration, a_namespace_may_have_one_in_a_pool) {
    const Result<Config> config = parse(
        "policy:\n  pools: [{name: p}]\n  tenants:\n    - {name: t, pools: [{pool: p, budget: "
        "{gpuHours: 10, period: day}}]}\n",
        "test.yaml");
    ASSERT_TRUE(config) << config.error().message;
    const PoolQuota& quota = config->policy.tenants.at(0).pools.at(0);
    EXPECT_FALSE(quota.gpu_maximum);
    ASSERT_TRUE(quota.budget);
    EXPECT_EQ(quota.budget->amount, GpuTime{10 * kGpuTimePerGpuHour});
}

TEST(BudgetConfiguration, a_printed_budget_reads_back) {
    for (const char* members :
         {"gpuHours: 500, period: week", "gpuHours: 0.5, period: month, carryOver: 0.25",
          "gpuHours: 7, period: 30d, start: 2026-12-01T06:00:00Z", "gpuHours: 7, period: day"}) {
        const Result<Config> config = parse(with_budget(members), "test.yaml");
        ASSERT_TRUE(config) << config.error().message;
        const Result<Config> again = parse(print_config(*config), "printed.yaml");
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->policy, config->policy) << members;
    }
}

TEST(BudgetConfiguration, mistakes_are_reported_with_their_line_and_what_to_do) {
    expect_refusal(with_budget("gpuHours: 5, period: fortnight"),
                   "test.yaml:6:33: policy.pools.0.queues.0.budget.period must be day, week, "
                   "month or a span such as 30d, not \"fortnight\"");
    expect_refusal(with_budget("gpuHours: 5, period: 10m"), "must be from 1h to 366d, not 10m");
    expect_refusal("policy:\n  finishedJobsRetention: 99999d\n",
                   "must be from 1m to 366d, not 99999d");
    expect_refusal(with_budget("gpuHours: 5"), "period");
    expect_refusal(with_budget("gpuHours: 0, period: day"), "must be more than 0");
    expect_refusal(with_budget("gpuHours: 900000000, period: day"), "at most 100000000 GPU-hours");
    expect_refusal("policy:\n  pools: [{name: p}]\n  tenants: [{name: t, pools: [{pool: p}]}]\n",
                   "the entry of pool p has no limit; give gpuMaximum or budget");
}

TEST(BudgetConfiguration, a_start_is_for_spans_only) {
    const auto begun = [](const std::string& period) {
        return with_budget("gpuHours: 5, period: " + period + ", start: 2026-12-01T06:00:00Z");
    };
    const Result<Config> day = parse(begun("day"), "test.yaml");
    ASSERT_FALSE(day);
    EXPECT_EQ(day.error().message,
              "test.yaml:6:46: start is for spans such as 30d; a day begins at midnight UTC: "
              "remove start, or give a span");
    expect_refusal(begun("week"), "a week begins on Monday");
    expect_refusal(begun("month"), "a month begins on its first day");
    EXPECT_TRUE(parse(begun("1d"), "test.yaml")) << "a span of a day is no calendar's day";
    EXPECT_TRUE(parse(begun("7d"), "test.yaml"));
}

TEST(BudgetConfiguration, no_budget_exceeds_that_of_a_parent_queue_for_the_same_periods) {
    const auto nested = [](const std::string& above, const std::string& below) {
        return "policy:\n  pools:\n  - name: p\n    queues:\n    - name: q\n      budget: {" +
               above + "}\n      queues:\n      - name: a\n        budget: {" + below + "}\n";
    };
    expect_refusal(nested("gpuHours: 10, period: week", "gpuHours: 10.5, period: week"),
                   "test.yaml:9:9: queue a may use 10.5 GPU-hours in a period, more than the 10 of "
                   "the queue q above it");
    const char* const fine[][2] = {
        {"gpuHours: 10, period: week", "gpuHours: 10, period: week"},
        {"gpuHours: 10, period: week, carryOver: 1", "gpuHours: 11, period: week"},
        {"gpuHours: 10, period: day", "gpuHours: 20, period: week"}};
    for (const auto& [above, below] : fine) {
        const Result<Config> read = parse(nested(above, below), "test.yaml");
        EXPECT_TRUE(read) << read.error().message;
    }
}

}  // namespace
}  // namespace gpuctl::config
