#include "metrics/recorder.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "scheduler/base/check.hpp"

namespace gpuctl::metrics {
namespace {

using Labels = std::vector<std::string>;

const std::vector<double>& bounds_of(Buckets buckets) {
    static const std::vector<double> none;
    static const std::vector<double> microseconds{0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                                  0.0005,  0.001,    0.0025,  0.005,  0.01,
                                                  0.025,   0.05,     0.1,     0.25,   1};
    static const std::vector<double> milliseconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,    0.25,  0.5,    1,     2.5,  5,     10};
    static const std::vector<double> waiting{0.01, 0.05, 0.25, 1,    5,     15,    60,
                                             300,  900,  3600, 7200, 21600, 43200, 86400};
    static const std::vector<double> sizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    static const std::vector<double> requests{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                              0.5,   1,    2.5,   5,    10,  30};
    switch (buckets) {
        case Buckets::none:
            return none;
        case Buckets::microseconds:
            return microseconds;
        case Buckets::milliseconds:
            return milliseconds;
        case Buckets::waiting:
            return waiting;
        case Buckets::sizes:
            return sizes;
        case Buckets::requests:
            return requests;
    }
    return none;
}

std::vector<std::string> label_names(const MetricRow& row) {
    std::vector<std::string> names;
    std::string_view rest = row.labels;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return names;
}

prometheus::MetricType type_of(MetricType type) {
    switch (type) {
        case MetricType::counter:
            return prometheus::MetricType::Counter;
        case MetricType::gauge:
            return prometheus::MetricType::Gauge;
        case MetricType::histogram:
            return prometheus::MetricType::Histogram;
    }
    return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram to_client(const Histogram& histogram) {
    prometheus::ClientMetric::Histogram result;
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
        cumulative += histogram.counts()[i];
        prometheus::ClientMetric::Bucket bucket;
        bucket.cumulative_count = cumulative;
        bucket.upper_bound = i < histogram.upper_bounds().size()
                                 ? histogram.upper_bounds()[i]
                                 : std::numeric_limits<double>::infinity();
        result.bucket.push_back(bucket);
    }
    result.sample_count = histogram.count();
    result.sample_sum = histogram.sum();
    return result;
}

}  // namespace

Histogram::Histogram(const std::vector<double>& upper_bounds)
    : upper_bounds_(&upper_bounds), counts_(upper_bounds.size() + 1) {}

void Histogram::observe(double value) {
    const auto bound = std::lower_bound(upper_bounds_->begin(), upper_bounds_->end(), value);
    ++counts_[static_cast<std::size_t>(bound - upper_bounds_->begin())];
    ++count_;
    sum_ += value;
}

void Histogram::replace(const std::vector<std::uint64_t>& counts, double sum) {
    GPUCTL_CHECK(counts.size() == counts_.size(), "one count per bucket");
    counts_ = counts;
    count_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    sum_ = sum;
}

struct Recorder::Parts {
    // Nodes of a map do not move: references to cells stay good.
    struct Family {
        std::vector<std::string> labels;
        std::map<Labels, Counter> counters;
        std::map<Labels, Gauge> gauges;
        std::map<Labels, Histogram> histograms;
    };
    std::vector<Family> families{kMetrics.size()};
    std::vector<std::function<void()>> hooks;

    Family& family(Metric metric, MetricType type, const Labels& labels) {
        Family& found = families[static_cast<std::size_t>(metric)];
        GPUCTL_CHECK(row_of(metric).type == type, "a metric is recorded as the table declares it");
        GPUCTL_CHECK(found.labels.size() == labels.size(), "one value per label of the table");
        return found;
    }
};

Recorder::Recorder() : parts_(std::make_unique<Parts>()) {
    for (const MetricRow& row : kMetrics) {
        parts_->families[static_cast<std::size_t>(row.metric)].labels = label_names(row);
        // A series that never happened reads 0 rather than being absent, so that rates work.
        if (!row.labels.empty()) continue;
        if (row.type == MetricType::counter) counter(row.metric);
        if (row.type == MetricType::gauge) gauge(row.metric);
        if (row.type == MetricType::histogram) histogram(row.metric);
    }
}

Recorder::~Recorder() = default;

Counter& Recorder::counter(Metric metric, const Labels& labels) {
    return parts_->family(metric, MetricType::counter, labels).counters[labels];
}

Gauge& Recorder::gauge(Metric metric, const Labels& labels) {
    return parts_->family(metric, MetricType::gauge, labels).gauges[labels];
}

Histogram& Recorder::histogram(Metric metric, const Labels& labels) {
    auto& histograms = parts_->family(metric, MetricType::histogram, labels).histograms;
    return histograms.try_emplace(labels, bounds_of(row_of(metric).buckets)).first->second;
}

void Recorder::reset(Metric metric) {
    auto& family = parts_->families[static_cast<std::size_t>(metric)];
    family.counters.clear();
    family.gauges.clear();
    family.histograms.clear();
}

void Recorder::before_scrape(std::function<void()> hook) {
    parts_->hooks.push_back(std::move(hook));
}

void Recorder::clear_hooks() { parts_->hooks.clear(); }

std::string Recorder::text() {
    for (const auto& hook : parts_->hooks) hook();
    std::vector<prometheus::MetricFamily> families;
    families.reserve(kMetrics.size());
    for (const MetricRow& row : kMetrics) {
        const auto& source = parts_->families[static_cast<std::size_t>(row.metric)];
        prometheus::MetricFamily family;
        family.name = row.name;
        family.help = row.meaning;
        family.type = type_of(row.type);
        const auto add = [&](const Labels& values) -> prometheus::ClientMetric& {
            auto& metric = family.metric.emplace_back();
            for (std::size_t i = 0; i < values.size(); ++i) {
                metric.label.push_back({source.labels[i], values[i]});
            }
            return metric;
        };
        for (const auto& [labels, cell] : source.counters) {
            add(labels).counter.value = static_cast<double>(cell.value());
        }
        for (const auto& [labels, cell] : source.gauges) add(labels).gauge.value = cell.value();
        for (const auto& [labels, cell] : source.histograms) {
            add(labels).histogram = to_client(cell);
        }
        families.push_back(std::move(family));
    }
    return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace gpuctl::metrics
