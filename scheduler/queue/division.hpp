#pragma once
// Weighted max-min fairness by water-filling: the part of a whole that each of several claimants is
// entitled to.

#include <cstdint>
#include <vector>

namespace gpuctl {

struct Claim {
    std::int64_t weight = 1;      // >= 1
    std::int64_t guaranteed = 0;  // never less than this, up to its demand
    std::int64_t demand = 0;      // what it could use: held and waited for
    std::int64_t cap = 0;         // never more than this
};

// The units of `whole` that each claimant gets. First min(guaranteed, demand, cap) each, in
// proportion if the whole is too small for that; then unit by unit to the claimant that has least
// for its weight and has unmet demand, the first of equals. Nothing is left over while any demand
// is unmet.
std::vector<std::int64_t> divide(std::int64_t whole, const std::vector<Claim>& claims);

}  // namespace gpuctl
