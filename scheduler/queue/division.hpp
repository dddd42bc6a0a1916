#pragma once
// Weighted max-min fairness by water-filling: computes the part of a whole that each of several
// claimants is entitled to.

#include <cstdint>
#include <vector>

namespace gpuctl {

struct ShareRequest {
    std::int64_t weight = 1;      // >= 1
    std::int64_t guaranteed = 0;  // it gets at least this amount, up to its demand
    std::int64_t demand = 0;      // the amount that it could use: held and waited for
    std::int64_t cap = 0;         // it gets at most this amount
};

// The units of `whole` that each claimant gets. First each gets min(guaranteed, demand, cap), in
// proportion if the whole is too small for that. Then each further unit goes to the claimant with
// unmet demand that has the smallest amount for its weight, the first of equals. Nothing is left
// over while any demand is unmet.
std::vector<std::int64_t> divide(std::int64_t whole, const std::vector<ShareRequest>& requests);

}  // namespace gpuctl
