#pragma once
// A state's hash as people compare it: 16 hex digits, the same from the server and from a replay.

#include <cstdint>
#include <cstdio>
#include <string>

namespace gpuctl::wire {

inline std::string hash_text(std::uint64_t hash) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

}  // namespace gpuctl::wire
