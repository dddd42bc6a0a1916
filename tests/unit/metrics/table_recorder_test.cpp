// A second binary records a table of its own.
#include "metrics/table_recorder.hpp"

#include <gtest/gtest.h>

#include <array>

namespace gpuctl::exporter_test {

enum class GpuMetric : std::uint8_t { temperature, errors, read_time };

constexpr auto kGpuMetrics = std::to_array<metrics::MetricRow>({
    {"gpu_temperature_celsius", metrics::MetricType::gauge, "celsius", "gpu",
     metrics::buckets::none, "Temperature of a GPU."},
    {"gpu_errors_total", metrics::MetricType::counter, "", "", metrics::buckets::none,
     "Errors that the driver reported."},
    {"gpu_read_duration_seconds", metrics::MetricType::histogram, "seconds", "",
     metrics::buckets::sizes, "Time to read all GPUs."},
});

constexpr metrics::MetricTable table_of(GpuMetric) { return kGpuMetrics; }

TEST(TableRecorder, records_the_table_of_any_enumeration) {
    metrics::RecorderOf<GpuMetric> recorder;
    recorder.gauge(GpuMetric::temperature, {"0"}).set(61);
    recorder.counter(GpuMetric::errors).add(2);
    recorder.histogram(GpuMetric::read_time).observe(3);
    const std::string text = recorder.text();
    EXPECT_NE(text.find("gpu_temperature_celsius{gpu=\"0\"} 61\n"), std::string::npos) << text;
    EXPECT_NE(text.find("# HELP gpu_errors_total Errors that"), std::string::npos) << text;
    EXPECT_NE(text.find("gpu_errors_total 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("gpu_read_duration_seconds_bucket{le=\"4\"} 1\n"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("gpuctld_"), std::string::npos) << "only the rows of its own table";
}

TEST(TableRecorder, a_series_without_labels_reads_zero_before_it_happened) {
    metrics::RecorderOf<GpuMetric> recorder;
    const std::string text = recorder.text();
    EXPECT_NE(text.find("gpu_errors_total 0\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("gpu_temperature_celsius{"), std::string::npos) << text;
}

TEST(TableRecorderDeathTest, a_metric_is_recorded_as_its_table_declares_it) {
    metrics::RecorderOf<GpuMetric> recorder;
    EXPECT_DEATH(recorder.counter(GpuMetric::temperature, {"0"}), "as the table declares it");
    EXPECT_DEATH(recorder.gauge(GpuMetric::temperature), "one value per label");
}

}  // namespace gpuctl::exporter_test
