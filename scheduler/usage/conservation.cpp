#include "scheduler/usage/conservation.hpp"

#include <algorithm>
#include <map>

namespace gpuctl::usage {
namespace {

// By node and time: the change of (accounted amount - capacity).
using Changes = std::map<std::string, std::map<Instant, GpuMilli>>;

Sum span_sum(GpuMilli amount, Instant begin, Instant end) {
    return static_cast<Sum>(amount.value()) * (end - begin).ms();
}

template <typename AnyInterval>
bool is_well_formed(const AnyInterval& one) {
    return one.begin < one.end && one.amount >= GpuMilli{};
}

template <typename AnyInterval>
Finding malformed(const AnyInterval& one) {
    return {Imbalance::malformed, one.node, one.begin, one.end, one.amount};
}

// Adjacent spans with the same difference are one finding.
void find_imbalances(const std::string& node, const std::map<Instant, GpuMilli>& changes,
                     std::vector<Finding>& findings) {
    GpuMilli difference;
    Instant since;
    for (const auto& [at, change] : changes) {
        if (change == GpuMilli{}) continue;
        if (difference != GpuMilli{}) {
            const bool is_gap = difference < GpuMilli{};
            findings.push_back(
                {is_gap ? Imbalance::gap : Imbalance::overlap, node, since, at, difference});
        }
        difference += change;
        since = at;
    }
}

}  // namespace

Sum Sums::accounted() const {
    Sum sum = 0;
    for (const Sum one : by_class) sum += one;
    return sum;
}

Balance check_conservation(const std::vector<Interval>& used,
                           const std::vector<CapacityInterval>& offered) {
    Balance out;
    Changes changes;
    for (const Interval& one : used) {
        if (!is_well_formed(one)) {
            out.findings.push_back(malformed(one));
            continue;
        }
        out.sums.by_class[static_cast<std::size_t>(one.use)] +=
            span_sum(one.amount, one.begin, one.end);
        changes[one.node][one.begin] += one.amount;
        changes[one.node][one.end] -= one.amount;
    }
    for (const CapacityInterval& one : offered) {
        if (!is_well_formed(one)) {
            out.findings.push_back(malformed(one));
            continue;
        }
        out.sums.capacity += span_sum(one.amount, one.begin, one.end);
        changes[one.node][one.begin] -= one.amount;
        changes[one.node][one.end] += one.amount;
    }
    for (const auto& [node, of_node] : changes) find_imbalances(node, of_node, out.findings);
    return out;
}

}  // namespace gpuctl::usage
