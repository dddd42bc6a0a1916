#pragma once
// Checks the invariant of a Listing after every step (I25 of docs/invariants.md): it equals a full
// count over the rows. For tests and the simulation.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/listing/listing.hpp"

namespace gpuctl {

// Updates the listing and returns its errors; empty: none. It checks some pages, which depend on
// `turn`.
std::vector<std::string> verify_listing(Listing& listing, std::uint64_t turn);

}  // namespace gpuctl
