#pragma once
// Shapes that found no room in a pool, valid until capacity becomes free in the pool. Most jobs ask
// for few different shapes, so most searches without a result are not made twice.

#include <cstdint>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class RefusedShapes {
public:
    // For so many ranks together.
    [[nodiscard]] bool contains(const ClusterState& state, PoolId pool, ShapeId shape,
                                std::int64_t ranks);
    void add(const ClusterState& state, PoolId pool, ShapeId shape, std::int64_t ranks);

private:
    struct Entry {
        std::uint64_t shape_serial = 0;
        std::uint64_t gains = 0;
        std::int64_t ranks = 0;  // together, or more
    };
    Entry& entry(const ClusterState& state, PoolId pool, ShapeId shape);

    std::vector<std::vector<Entry>> entries_;  // by pool, then shape
};

}  // namespace gpuctl
