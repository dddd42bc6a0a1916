#include "metrics/table_recorder.hpp"

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

Histogram::Histogram(std::span<const double> upper_bounds)
    : upper_bounds_(upper_bounds), counts_(upper_bounds.size() + 1) {}

void Histogram::observe(double value) {
    const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
    ++counts_[static_cast<std::size_t>(bound - upper_bounds_.begin())];
    ++count_;
    sum_ += value;
}

void Histogram::replace(const std::vector<std::uint64_t>& counts, double sum) {
    GPUCTL_CHECK(counts.size() == counts_.size(), "one count per bucket");
    counts_ = counts;
    count_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    sum_ = sum;
}

struct TableRecorder::Parts {
    // std::map nodes do not move, so references to cells stay valid.
    struct Family {
        std::vector<std::string> labels;
        std::map<Labels, Counter> counters;
        std::map<Labels, Gauge> gauges;
        std::map<Labels, Histogram> histograms;
    };
    explicit Parts(MetricTable rows) : table(rows), families(rows.size()) {}
    MetricTable table;
    std::vector<Family> families;
    std::vector<std::function<void()>> hooks;

    Family& family(std::size_t row, MetricType type, const Labels& labels) {
        Family& found = families[row];
        GPUCTL_CHECK(table[row].type == type, "a metric is recorded as the table declares it");
        GPUCTL_CHECK(found.labels.size() == labels.size(), "one value per label of the table");
        return found;
    }
};

TableRecorder::TableRecorder(MetricTable table) : parts_(std::make_unique<Parts>(table)) {
    for (std::size_t row = 0; row < table.size(); ++row) {
        parts_->families[row].labels = label_names(table[row]);
        // A series without events reads 0 rather than being absent, so that rates work.
        if (!table[row].labels.empty()) continue;
        if (table[row].type == MetricType::counter) counter_of(row, {});
        if (table[row].type == MetricType::gauge) gauge_of(row, {});
        if (table[row].type == MetricType::histogram) histogram_of(row, {});
    }
}

TableRecorder::~TableRecorder() = default;

Counter& TableRecorder::counter_of(std::size_t row, const Labels& labels) {
    return parts_->family(row, MetricType::counter, labels).counters[labels];
}

Gauge& TableRecorder::gauge_of(std::size_t row, const Labels& labels) {
    return parts_->family(row, MetricType::gauge, labels).gauges[labels];
}

Histogram& TableRecorder::histogram_of(std::size_t row, const Labels& labels) {
    auto& histograms = parts_->family(row, MetricType::histogram, labels).histograms;
    return histograms.try_emplace(labels, parts_->table[row].buckets).first->second;
}

void TableRecorder::reset_row(std::size_t row) {
    auto& family = parts_->families[row];
    family.counters.clear();
    family.gauges.clear();
    family.histograms.clear();
}

void TableRecorder::before_scrape(std::function<void()> hook) {
    parts_->hooks.push_back(std::move(hook));
}

void TableRecorder::clear_hooks() { parts_->hooks.clear(); }

std::string TableRecorder::text() {
    for (const auto& hook : parts_->hooks) hook();
    std::vector<prometheus::MetricFamily> families;
    families.reserve(parts_->table.size());
    for (std::size_t at = 0; at < parts_->table.size(); ++at) {
        const MetricRow& row = parts_->table[at];
        const auto& source = parts_->families[at];
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
