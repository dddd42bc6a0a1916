#pragma once
// What a placement would spoil: how much of a node's idle GPUs could not be used any more
// (docs/adr/0015). Two things spoil them. Resources beside them that are gone (CPU, memory, pod
// slots, ephemeral storage and any other that nodes with GPUs offer): idle GPUs beyond what is left
// of these can carry. And rests on shared devices that the parts that are asked for do not fill.
//
// A pure function of the state; what is kept here only saves time.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Fragmentation {
public:
    static constexpr std::int64_t kDoesNotFit = std::numeric_limits<std::int64_t>::max();

    // Brings what is kept up to date; before the others are asked.
    void look_at(const ClusterState& state, const Capacity& capacity, PoolId pool);
    // Moves when judgements of this pool made before may be wrong.
    [[nodiscard]] std::uint64_t version(PoolId pool, const Shape& shape) const;

    // The less the better; kDoesNotFit when the node cannot take a pod of this shape.
    [[nodiscard]] std::int64_t cost(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                    const Shape& shape) const;
    // So many pods of the shape would leave idle GPUs on the node that even modest work cannot use.
    [[nodiscard]] bool strands_gpus(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                    const Shape& shape, std::int64_t pods) const;
    // The device on which the part of a GPU spoils least; kNoDevice without a part.
    [[nodiscard]] std::int32_t device_for(const Capacity& capacity, std::uint32_t slot,
                                          const Shape& shape) const;

private:
    // What a GPU of a pool needs beside it on its node, of one resource.
    struct BesideGpu {
        Column column{};
        int shift = 0;             // 2^shift of the column are counted as one
        std::int64_t for_one = 0;  // > 0
        bool is_usual = false;     // what the pool's median GPU has; else the least that any needs
        friend bool operator==(const BesideGpu&, const BesideGpu&) = default;
    };
    struct PoolRow {
        std::uint64_t offers = 0;  // of the capacity it was read from
        std::uint64_t version = 1;
        std::vector<BesideGpu> resources;  // by column
    };
    struct Choice {
        std::int32_t device = kNoDevice;
        std::int64_t cost = 0;
    };
    void read_pool(const ClusterState& state, const Capacity& capacity, PoolId pool);
    void read_parts(const ShapeTable& shapes);
    // Idle GPUs that cannot be used, in millionths: by work that asks for what is usual beside a
    // GPU; by work that asks for a modest part of that; by any work.
    struct Stranded {
        std::int64_t usual = 0;
        std::int64_t modest = 0;
        std::int64_t any = 0;
        std::int64_t large = 0;  // for pods of several GPUs, summed over sizes
    };
    [[nodiscard]] Stranded stranded_by(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                       std::int64_t idle_milli, const Shape& shape,
                                       std::int64_t pods) const;
    [[nodiscard]] std::int64_t median_beside(const ClusterState& state, const NodeSet& nodes,
                                             const Capacity& capacity, Column column);
    [[nodiscard]] std::int64_t spoilt(std::int64_t rest_milli) const;
    [[nodiscard]] Choice choose_device(const Capacity& capacity, std::uint32_t slot,
                                       const Shape& shape) const;

    std::vector<PoolRow> pools_;
    std::uint64_t parts_read_ = 0;  // ShapeTable::part_changes() then
    std::uint64_t parts_version_ = 1;
    bool parts_about_ = false;  // somebody asks for parts of GPUs
    std::vector<std::int64_t> common_parts_;
    std::array<std::int64_t, kGpuMilliPerGpu + 1>
        left_over_{};                                 // of a rest, filled as well as may be
    std::vector<std::array<std::int64_t, 3>> nodes_;  // buffer: ratio, GPUs, slot
};

}  // namespace gpuctl
