#pragma once
// The figures of this process. A recording place asks once for its cell and keeps the reference;
// recording is then an addition, without lock, lookup or allocation. Text is made on scrape.
//
// Thread: the loop's, like everything that records. Ownership: the composition root; cells live as
// long as the recorder, except those of a family that was reset().

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metrics/names.hpp"

namespace gpuctl::metrics {

class Counter {
public:
    void add(std::uint64_t count = 1) { value_ += count; }
    // For totals that somebody else counts (the engine, the journal): never goes back.
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
    explicit Histogram(const std::vector<double>& upper_bounds);
    void observe(double value);
    // For totals that somebody else counts over the same bounds; `counts` has one more than those.
    void replace(const std::vector<std::uint64_t>& counts, double sum);
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double sum() const { return sum_; }
    [[nodiscard]] const std::vector<double>& upper_bounds() const { return *upper_bounds_; }
    [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }

private:
    const std::vector<double>* upper_bounds_;  // static tables
    std::vector<std::uint64_t> counts_;        // one more than bounds: +Inf
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

class Recorder {
public:
    Recorder();
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // `labels`: one value per label of the row, in its order (CHECK: that is our own bug).
    Counter& counter(Metric metric, const std::vector<std::string>& labels = {});
    Gauge& gauge(Metric metric, const std::vector<std::string>& labels = {});
    Histogram& histogram(Metric metric, const std::vector<std::string>& labels = {});

    // Forgets all series of a family, for gauges that are filled anew on every scrape.
    void reset(Metric metric);

    // Called before every scrape, to fill gauges from state. The callee outlives the recorder or
    // is removed by clear_hooks().
    void before_scrape(std::function<void()> hook);
    void clear_hooks();

    // Prometheus text format 0.0.4.
    [[nodiscard]] std::string text();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

inline constexpr const char* kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace gpuctl::metrics
