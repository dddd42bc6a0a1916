#pragma once
// Shapes: the request and the placement rules of a pod, shared by all pods with equal ones, so that
// what is known of one pod (eligible nodes, refusals) is known for all. Counted: a shape and its
// constraint are removed with their last pod; `serial` distinguishes a reused id from the one
// before.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/capacity.hpp"

namespace gpuctl {

struct Constraint {
    PlacementRules rules;
    std::uint64_t serial = 0;
    std::uint32_t shapes = 0;
};

struct Shape {
    Needs needs;
    ConstraintId constraint;
    GpuMilli gpus;  // over all vendors: what quotas count
    CpuMilli cpu;
    Bytes memory;
    Column index_column{};
    GpuMilli part;  // a fraction of one GPU, shared with other pods; 0: it requests whole GPUs
    TopologyRules topology;  // of its constraint
    std::uint64_t serial = 0;
    std::uint32_t pods = 0;
    [[nodiscard]] Load load() const { return {gpus, cpu, memory}; }
};

class ShapeTable {
public:
    // Counts one more pod of the shape.
    ShapeId acquire(const Resources& request, const PlacementRules& rules, Capacity& capacity);
    void release(ShapeId id, Capacity& capacity);

    [[nodiscard]] const Shape& at(ShapeId id) const { return shapes_[id.value()]; }
    [[nodiscard]] const Constraint& constraint(ConstraintId id) const {
        return constraints_[id.value()];
    }
    [[nodiscard]] std::size_t size() const { return shapes_.size(); }

    // The number of pods, waiting or placed, by the requested thousandths of one GPU.
    // `part_changes` changes with each of them.
    using PartCounts = std::array<std::uint32_t, kGpuMilliPerGpu>;
    [[nodiscard]] const PartCounts& pods_by_part() const { return pods_by_part_; }
    [[nodiscard]] std::uint32_t pods_with_part() const { return pods_with_part_; }
    [[nodiscard]] std::uint64_t part_changes() const { return part_changes_; }

private:
    ConstraintId acquire_constraint(const PlacementRules& rules);

    std::vector<Shape> shapes_;
    std::vector<std::string> shape_keys_;
    std::vector<ShapeId> shapes_vacant_;
    TextMap<ShapeId> shape_ids_;

    std::vector<Constraint> constraints_;
    std::vector<std::string> constraint_keys_;
    std::vector<ConstraintId> constraints_vacant_;
    TextMap<ConstraintId> constraint_ids_;
    std::uint64_t next_serial_ = 1;

    void count_part(const Shape& shape, bool is_more);
    PartCounts pods_by_part_{};
    std::uint32_t pods_with_part_ = 0;
    std::uint64_t part_changes_ = 1;
};

}  // namespace gpuctl
