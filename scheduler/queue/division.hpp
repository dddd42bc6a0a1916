#pragma once
// Water-filling: how much of a whole each of several claimants is entitled to.

#include <cstdint>
#include <vector>

namespace gpuctl {

struct Claim {
    std::int64_t weight = 1;      // >= 1
    std::int64_t guaranteed = 0;  // never less than this, as far as it is asked for
    std::int64_t demand = 0;      // what it could use: held and waited for
    std::int64_t cap = 0;         // never more than this
};

// What each gets of `whole`, in whole units. First min(guaranteed, demand, cap) each, in proportion
// if the whole is too small for that; then unit by unit to who has least for its weight and still
// asks, the first of equals. Nothing is left over while anybody asks.
std::vector<std::int64_t> divide(std::int64_t whole, const std::vector<Claim>& claims);

}  // namespace gpuctl
