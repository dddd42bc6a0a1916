#pragma once
// The one door through which chance enters the process. What it gives becomes a seed or a name at
// start-up; decisions draw from Rng, whose seeds are journaled.

#include <cstdint>
#include <string>

namespace gpuctl::aio {

std::uint64_t random_seed();

// RFC 9562, version 4: "xxxxxxxx-xxxx-4xxx-[89ab]xxx-xxxxxxxxxxxx".
std::string random_uuid();

}  // namespace gpuctl::aio
