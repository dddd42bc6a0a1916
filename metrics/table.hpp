#pragma once
// The form of a metric table. gpuctld's is metrics/names.hpp; another binary that links this room
// writes its own: an enumeration, one row per enumerator in the same order, and a function
// table_of(Enumeration) in its namespace.

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuctl::metrics {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

// Upper bounds of histogram buckets; the recorder adds +Inf.
namespace buckets {

inline constexpr std::span<const double> none{};
inline constexpr double microseconds[] = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                          0.0005,  0.001,    0.0025,  0.005,  0.01,
                                          0.025,   0.05,     0.1,     0.25,   1};
inline constexpr double milliseconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                          0.1,    0.25,  0.5,    1,     2.5,  5,     10};
inline constexpr double waiting[] = {0.01, 0.05, 0.25, 1,    5,     15,    60,
                                     300,  900,  3600, 7200, 21600, 43200, 86400};
inline constexpr double sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
inline constexpr double requests[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

}  // namespace buckets

struct MetricRow {
    std::string_view name;
    MetricType type;
    std::string_view unit;
    std::string_view labels;          // names, separated by spaces
    std::span<const double> buckets;  // of a histogram
    std::string_view meaning;
};

using MetricTable = std::span<const MetricRow>;

}  // namespace gpuctl::metrics
