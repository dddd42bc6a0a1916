#pragma once
// What must hold of a Listing after every step (I25 of docs/invariants.md): it says what the rows
// say, counted by hand. For tests and the simulation.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/listing/listing.hpp"

namespace gpuctl {

// What is wrong with it, brought up to date as it is; empty: nothing. Some pages are looked at,
// others for another `turn`.
std::vector<std::string> verify_listing(Listing& listing, std::uint64_t turn);

}  // namespace gpuctl
