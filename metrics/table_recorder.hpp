#pragma once
// The values of the metrics of one table. Code that records looks its cell up once and keeps the
// reference; recording is then one addition, without lock, lookup or allocation. Text is made on
// scrape.
//
// Thread: the loop's. Ownership: the composition root; cells live as long as the recorder, except
// those of a family that was reset().

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metrics/table.hpp"

namespace gpuctl::metrics {

class Counter {
public:
    void add(std::uint64_t count = 1) { value_ += count; }
    // For totals counted elsewhere (the engine, the journal): never decreases.
    void raise_to(std::uint64_t total) {
        if (total > value_) value_ = total;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0;
};

class Gauge {
public:
    void set(double value) { value_ = value; }
    void add(double change) { value_ += change; }
    [[nodiscard]] double value() const { return value_; }

private:
    double value_ = 0;
};

class Histogram {
public:
    explicit Histogram(std::span<const double> upper_bounds);
    void observe(double value);
    // For totals counted elsewhere over the same bounds; `counts` has one more than those.
    void replace(const std::vector<std::uint64_t>& counts, double sum);
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double sum() const { return sum_; }
    [[nodiscard]] std::span<const double> upper_bounds() const { return upper_bounds_; }
    [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }

private:
    std::span<const double> upper_bounds_;  // of the table
    std::vector<std::uint64_t> counts_;     // one more than bounds: +Inf
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

// A metric is the number of its row here; RecorderOf gives it a type.
class TableRecorder {
public:
    // The table outlives the recorder.
    explicit TableRecorder(MetricTable table);
    ~TableRecorder();
    TableRecorder(const TableRecorder&) = delete;
    TableRecorder& operator=(const TableRecorder&) = delete;

    // Called before every scrape, to fill gauges from state. The callee outlives the recorder or
    // is removed by clear_hooks().
    void before_scrape(std::function<void()> hook);
    void clear_hooks();

    // Prometheus text format 0.0.4.
    [[nodiscard]] std::string text();

protected:
    using Labels = std::vector<std::string>;
    Counter& counter_of(std::size_t row, const Labels& labels);
    Gauge& gauge_of(std::size_t row, const Labels& labels);
    Histogram& histogram_of(std::size_t row, const Labels& labels);
    void reset_row(std::size_t row);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// `Metric` enumerates the rows of table_of(Metric{}), in their order.
template <typename Metric>
class RecorderOf : public TableRecorder {
public:
    RecorderOf() : TableRecorder(table_of(Metric{})) {}

    // `labels`: one value per label of the row, in the row's order (CHECK: a wrong count is a bug
    // of ours).
    Counter& counter(Metric metric, const Labels& labels = {}) {
        return counter_of(static_cast<std::size_t>(metric), labels);
    }
    Gauge& gauge(Metric metric, const Labels& labels = {}) {
        return gauge_of(static_cast<std::size_t>(metric), labels);
    }
    Histogram& histogram(Metric metric, const Labels& labels = {}) {
        return histogram_of(static_cast<std::size_t>(metric), labels);
    }
    // Removes all series of a family, for gauges that are filled again on every scrape.
    void reset(Metric metric) { reset_row(static_cast<std::size_t>(metric)); }
};

}  // namespace gpuctl::metrics
