#include "scheduler/queue/division.hpp"

#include <algorithm>
#include <numeric>

#include "scheduler/base/wide.hpp"

namespace gpuctl {
namespace {

struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
};

// Unit j (from 0) of a claimant with weight w is handed out at level j / w. Returns the number of
// units of the claimant below level `t` / `per`.
std::int64_t units_below(std::int64_t weight, const Range& range, std::int64_t t,
                         std::int64_t per) {
    const Wide units = (static_cast<Wide>(t) * weight + per - 1) / per;
    return static_cast<std::int64_t>(
        std::clamp<Wide>(units, range.low, std::max(range.low, range.high)));
}

// Hands out the rest, one unit at a time, to the claimant with the smallest amount for its weight.
void hand_out(std::int64_t left, const std::vector<ShareRequest>& requests,
              const std::vector<Range>& ranges, std::vector<std::int64_t>& given) {
    for (; left > 0; --left) {
        std::size_t best = requests.size();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (given[i] >= ranges[i].high) continue;
            if (best == requests.size() ||
                static_cast<Wide>(given[i]) * requests[best].weight <
                    static_cast<Wide>(given[best]) * requests[i].weight) {
                best = i;
            }
        }
        if (best == requests.size()) return;
        ++given[best];
    }
}

}  // namespace

std::vector<std::int64_t> divide(std::int64_t whole, const std::vector<ShareRequest>& requests) {
    std::vector<Range> ranges;
    std::int64_t guaranteed_sum = 0;
    std::int64_t weight_most = 1;
    std::int64_t high_most = 0;
    whole = std::max<std::int64_t>(whole, 0);
    for (const ShareRequest& request : requests) {
        const std::int64_t high = std::max<std::int64_t>(std::min(request.demand, request.cap), 0);
        ranges.push_back({std::clamp<std::int64_t>(request.guaranteed, 0, high), high});
        guaranteed_sum += ranges.back().low;
        weight_most = std::max(weight_most, request.weight);
        high_most = std::max(high_most, high);
    }
    if (guaranteed_sum > whole) {  // guarantees beyond the whole are reduced in proportion
        for (Range& range : ranges) {
            range.high = range.low;
            range.low =
                static_cast<std::int64_t>(static_cast<Wide>(range.low) * whole / guaranteed_sum);
        }
    }
    // The highest level, in steps of 1 / weight_most, whose units do not exceed the rest. One
    // further step hands out at most one unit to each claimant.
    const auto handed_out = [&](std::int64_t t) {
        Wide sum = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            sum += units_below(requests[i].weight, ranges[i], t, weight_most);
        }
        return sum;
    };
    std::int64_t low = 0;
    std::int64_t high = (high_most + 1) * weight_most;
    while (low < high) {
        const std::int64_t middle = low + (high - low + 1) / 2;
        if (handed_out(middle) <= whole) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    std::vector<std::int64_t> given;
    std::int64_t left = whole;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        given.push_back(units_below(requests[i].weight, ranges[i], low, weight_most));
        left -= given.back();
    }
    hand_out(left, requests, ranges, given);
    return given;
}

}  // namespace gpuctl
