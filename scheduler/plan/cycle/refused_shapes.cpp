#include "scheduler/plan/cycle/refused_shapes.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

RefusedShapes::Entry& RefusedShapes::entry(const ClusterState& state, PoolId pool, ShapeId shape) {
    if (entries_.size() < state.tree.pools()) entries_.resize(state.tree.pools());
    std::vector<Entry>& of_pool = entries_[pool.value()];
    if (of_pool.size() <= shape.value()) of_pool.resize(state.pods.shapes().size());
    return of_pool[shape.value()];
}

bool RefusedShapes::contains(const ClusterState& state, PoolId pool, ShapeId shape,
                             std::int64_t ranks) {
    const Entry& known = entry(state, pool, shape);
    return known.shape_serial == state.shape_of(shape).serial &&
           (known.gains == state.pool(pool).gains || has_fault(SeededFault::refuse_for_ever)) &&
           (ranks >= known.ranks || has_fault(SeededFault::refuse_smaller_gangs));
}

void RefusedShapes::add(const ClusterState& state, PoolId pool, ShapeId shape, std::int64_t ranks) {
    entry(state, pool, shape) = {state.shape_of(shape).serial, state.pool(pool).gains, ranks};
}

}  // namespace gpuctl
