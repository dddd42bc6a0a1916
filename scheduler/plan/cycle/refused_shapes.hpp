#pragma once
// Shapes that found no room in a pool. An entry is valid until capacity becomes free in the pool.
// Most jobs request a few different shapes, so most searches without a result are not repeated.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class RefusedShapes {
public:
    // True if this many ranks together, or fewer, found no room.
    [[nodiscard]] bool contains(const ClusterState& state, PoolId pool, ShapeId shape,
                                std::int64_t ranks);
    void add(const ClusterState& state, PoolId pool, ShapeId shape, std::int64_t ranks);

private:
    struct Entry {
        std::uint64_t shape_serial = 0;
        std::uint64_t gains = 0;
        std::int64_t ranks = 0;  // this many ranks together, or more, find no room
    };
    Entry& entry(const ClusterState& state, PoolId pool, ShapeId shape);

    std::vector<std::vector<Entry>> entries_;  // by pool, then shape
};

}  // namespace gpuctl
