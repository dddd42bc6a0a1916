#include "metrics/recorder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace gpuctl::metrics {
namespace {

constexpr std::string_view type_name(MetricType type) {
    constexpr std::string_view names[] = {"counter", "gauge", "histogram"};
    return names[static_cast<std::size_t>(type)];
}

TEST(MetricTable, is_the_committed_list) {
    std::ifstream file{GPUCTL_SOURCE_DIR "/tests/golden/metrics.txt"};
    std::ostringstream golden;
    golden << file.rdbuf();
    std::string actual;
    for (const MetricRow& row : kMetrics) {
        actual += std::string{row.name} + " " + std::string{type_name(row.type)};
        if (!row.labels.empty()) actual += " {" + std::string{row.labels} + "}";
        actual += " - " + std::string{row.meaning} + "\n";
    }
    EXPECT_EQ(actual, golden.str())
        << "dashboards depend on this list: change both, and record it in the CHANGELOG";
}

TEST(MetricTable, names_follow_the_conventions) {
    std::set<std::string_view> seen;
    for (const MetricRow& row : kMetrics) {
        SCOPED_TRACE(row.name);
        EXPECT_TRUE(seen.insert(row.name).second);
        const bool ours = row.name.starts_with("gpuctld_");
        const bool kept = row.name == "compute_pool_usage" ||
                          row.name == "leader_election_master_status" ||
                          row.name.starts_with("rest_client_");
        EXPECT_TRUE(ours || kept);
        EXPECT_EQ(row.name.ends_with("_total"), row.type == MetricType::counter);
        EXPECT_EQ(!row.buckets.empty(), row.type == MetricType::histogram);
        const bool has_unit = row.name.find("_" + std::string{row.unit}) != std::string_view::npos;
        EXPECT_TRUE(row.unit.empty() || has_unit);
        for (const std::string_view banned : {"job ", "pod", "node ", "user", "namespace"}) {
            EXPECT_EQ((std::string{row.labels} + " ").find(banned), std::string::npos);
        }
    }
}

TEST(Recorder, a_cell_keeps_its_place_and_its_count) {
    Recorder recorder;
    Counter& first = recorder.counter(Metric::inputs, {"Plan"});
    for (int i = 0; i < 1000; ++i) recorder.counter(Metric::inputs, {"Event" + std::to_string(i)});
    first.add(3);
    EXPECT_EQ(&first, &recorder.counter(Metric::inputs, {"Plan"}));
    EXPECT_NE(recorder.text().find("gpuctld_inputs_total{event=\"Plan\"} 3"), std::string::npos);
}

TEST(Recorder, histogram_buckets_are_cumulative_and_end_with_infinity) {
    Recorder recorder;
    Histogram& lag = recorder.histogram(Metric::loop_lag);
    lag.observe(0.0005);  // equal to the bound: counts as not above it
    lag.observe(0.002);
    lag.observe(99);
    const std::string text = recorder.text();
    EXPECT_NE(text.find("gpuctld_loop_lag_seconds_bucket{le=\"0.0005\"} 1\n"), std::string::npos);
    EXPECT_NE(text.find("gpuctld_loop_lag_seconds_bucket{le=\"10\"} 2\n"), std::string::npos);
    EXPECT_NE(text.find("gpuctld_loop_lag_seconds_bucket{le=\"+Inf\"} 3\n"), std::string::npos);
    EXPECT_NE(text.find("gpuctld_loop_lag_seconds_count 3\n"), std::string::npos);
}

TEST(Recorder, a_reset_family_forgets_series_that_no_longer_exist) {
    Recorder recorder;
    bool gone = false;
    recorder.before_scrape([&] {
        recorder.reset(Metric::pool_nodes);
        if (!gone) recorder.gauge(Metric::pool_nodes, {"training"}).set(4);
    });
    EXPECT_NE(recorder.text().find("gpuctld_pool_nodes{pool=\"training\"} 4"), std::string::npos);
    gone = true;
    EXPECT_EQ(recorder.text().find("training"), std::string::npos);
}

TEST(Recorder, totals_counted_elsewhere_never_go_back) {
    Counter counter;
    counter.raise_to(10);
    counter.raise_to(4);
    EXPECT_EQ(counter.value(), 10u);
}

TEST(Recorder, label_values_are_escaped) {
    Recorder recorder;
    recorder.gauge(Metric::pool_nodes, {"a\"b\\c\nd"}).set(1);
    EXPECT_NE(recorder.text().find("pool=\"a\\\"b\\\\c\\nd\""), std::string::npos);
}

}  // namespace
}  // namespace gpuctl::metrics
