#pragma once
// Intervals of use, each with its holder and the amount that it held, and a check of their sum: at
// every time the charged amounts and the amounts of each class that is not charged must add up to
// the capacity. Then the accounts of a cluster are reliable, because nothing is charged twice and
// nothing is left out.
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
    nominated,       // nominated for a job, or held by a job that is being bound
    reserved,        // kept idle for a head-of-line job, by a reservation or a window
    foreign,         // held by pods that are not scheduled by gpuctl
    idle,            // free
    out_of_service,  // on a node that accepts no pods: cordoned, unhealthy, in maintenance
};
inline constexpr std::size_t kUseClasses = 6;

// GPUs of one node over a half-open span of time [begin, end).
struct Interval {
    std::string node;
    Instant begin;
    Instant end;
    GpuMilli amount;
    UseClass use = UseClass::idle;
    // The job of `charged`, `nominated` and `reserved`; otherwise empty.
    ObjectKey job;
    std::string pool;
    std::string queue;
    friend auto operator<=>(const Interval&, const Interval&) = default;
};

// The capacity that a node offers over [begin, end). A node without an entry offers nothing.
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
    overlap,   // more than the capacity is accounted for
    malformed  // an interval that does not end after it begins, or has a negative amount
};

// One span of a node in which the sum is wrong by the same amount.
struct Finding {
    Imbalance kind{};
    std::string node;
    Instant begin;
    Instant end;
    // accounted amount less capacity; for `malformed` the amount of the interval
    GpuMilli difference;
    friend auto operator<=>(const Finding&, const Finding&) = default;
};

struct Balance {
    Sums sums;                      // without malformed intervals
    std::vector<Finding> findings;  // malformed intervals first, then by node and begin
    [[nodiscard]] bool holds() const { return findings.empty(); }
};

// The intervals may be in any order; the cost is n log n. If the check holds, sums.accounted() ==
// sums.capacity.
[[nodiscard]] Balance check_conservation(const std::vector<Interval>& used,
                                         const std::vector<CapacityInterval>& offered);

}  // namespace gpuctl::usage
