#pragma once
// The only source of randomness of the process. What it returns becomes a seed or a name; decisions
// draw from Rng, whose seeds are journaled.

#include <cstdint>
#include <string>

namespace gpuctl::aio {

std::uint64_t random_seed();

// RFC 9562, version 4: "xxxxxxxx-xxxx-4xxx-[89ab]xxx-xxxxxxxxxxxx".
std::string random_uuid();
// RFC 9562, version 7: begins with the time, so that later ids sort after earlier ids.
std::string time_ordered_uuid(std::int64_t wall_ms);

}  // namespace gpuctl::aio
