#pragma once
// The oracle of gangs in small worlds: tries every way to place ranks on nodes.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuctl::test {

using Ranks = std::vector<std::int64_t>;  // GPUs per rank

// `free`: GPUs per node; it is unchanged afterwards.
inline bool can_place(std::vector<std::int64_t>& free, const Ranks& ranks, std::size_t next = 0) {
    if (next == ranks.size()) return true;
    for (std::int64_t& room : free) {
        if (room < ranks[next]) continue;
        room -= ranks[next];
        const bool found = can_place(free, ranks, next + 1);
        room += ranks[next];
        if (found) return true;
    }
    return false;
}

}  // namespace gpuctl::test
