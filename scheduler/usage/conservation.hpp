#pragma once
// Intervals of use: a holder and what it held, and the check that they add up: at every time the
// charged amounts and the amounts of each class that is not charged make up the capacity. What the
// books of a cluster charge can then be trusted, because nothing is charged twice and nothing is
// left out.
//
// No ledger writes intervals yet.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/base/wide.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::usage {

// What capacity was used for. Only `charged` is charged to a queue and a namespace.
enum class UseClass : std::uint8_t {
    charged,         // held by a job
    nominated,       // kept for a job that pods are evicted for, or that is being bound
    reserved,        // kept idle for the head-of-line job, by a reservation or a window
    foreign,         // held by pods that are not scheduled by gpuctl
    idle,            // free
    out_of_service,  // of a node that accepts no pods: cordoned, unhealthy, in maintenance
};
inline constexpr std::size_t kUseClasses = 6;

// GPUs of one node over a half-open span of time [begin, end).
struct Interval {
    std::string node;
    Instant begin;
    Instant end;
    GpuMilli amount;
    UseClass use = UseClass::idle;
    // Of `charged`, `nominated` and `reserved`; otherwise empty.
    ObjectKey job;
    std::string pool;
    std::string queue;
    friend auto operator<=>(const Interval&, const Interval&) = default;
};

// What a node offers over [begin, end). A node without such an entry offers nothing.
struct CapacityInterval {
    std::string node;
    Instant begin;
    Instant end;
    GpuMilli amount;
    friend auto operator<=>(const CapacityInterval&, const CapacityInterval&) = default;
};

// Thousandths of a GPU times milliseconds; exact for any list of intervals.
using Sum = Wide;

struct Sums {
    std::array<Sum, kUseClasses> by_class{};
    Sum capacity = 0;

    [[nodiscard]] Sum of(UseClass use) const { return by_class[static_cast<std::size_t>(use)]; }
    [[nodiscard]] Sum accounted() const;  // of all classes
    friend bool operator==(const Sums&, const Sums&) = default;
};

enum class Imbalance : std::uint8_t {
    gap,       // less than the capacity is accounted for
    overlap,   // more than the capacity
    malformed  // an interval that ends before or when it begins, or of a negative amount
};

// One span of a node in which the sum is wrong by the same amount.
struct Finding {
    Imbalance kind{};
    std::string node;
    Instant begin;
    Instant end;
    GpuMilli difference;  // accounted for, less capacity; of `malformed` the amount
    friend auto operator<=>(const Finding&, const Finding&) = default;
};

struct Balance {
    Sums sums;                      // without malformed intervals
    std::vector<Finding> findings;  // malformed ones first, then by node and begin
    [[nodiscard]] bool holds() const { return findings.empty(); }
};

// In any order; cost n log n. If it holds, sums.accounted() == sums.capacity.
[[nodiscard]] Balance check_conservation(const std::vector<Interval>& used,
                                         const std::vector<CapacityInterval>& offered);

}  // namespace gpuctl::usage
