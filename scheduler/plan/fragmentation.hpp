#pragma once
// What a placement would spoil: how much of a node's idle GPUs nobody could use any more
// (docs/adr/0015). Two things spoil them. CPU or memory that is gone: idle GPUs beyond what the
// node's free CPU and memory can carry, at the pool's usual CPU and memory for a GPU. And rests on
// shared devices that the parts people ask for do not fill.
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
    // The device on which the part of a GPU spoils least; kNoDevice without a part.
    [[nodiscard]] std::int32_t device_for(const Capacity& capacity, std::uint32_t slot,
                                          const Shape& shape) const;

private:
    // What the median GPU of a pool has beside it on its node.
    struct BesideGpu {
        std::uint64_t offers = 0;  // of the capacity it was read from
        std::uint64_t version = 1;
        std::int64_t cpu_milli = 0;   // 0: no node has any, so it is not short
        std::int64_t memory_mib = 0;  // likewise
    };
    struct Choice {
        std::int32_t device = kNoDevice;
        std::int64_t cost = 0;
    };
    void read_pool(const ClusterState& state, const Capacity& capacity, PoolId pool);
    void read_parts(const ShapeTable& shapes);
    [[nodiscard]] static std::int64_t unusable(const BesideGpu& beside, std::int64_t gpus_milli,
                                               std::int64_t cpu_milli, std::int64_t memory_bytes);
    [[nodiscard]] std::int64_t spoilt(std::int64_t rest_milli) const;
    [[nodiscard]] Choice choose_device(const Capacity& capacity, std::uint32_t slot,
                                       const Shape& shape) const;

    std::vector<BesideGpu> pools_;
    std::uint64_t parts_read_ = 0;  // ShapeTable::part_changes() then
    std::uint64_t parts_version_ = 1;
    bool parts_about_ = false;  // somebody asks for parts of GPUs
    std::vector<std::int64_t> common_parts_;
    std::array<std::int64_t, kGpuMilliPerGpu + 1>
        left_over_{};                                 // of a rest, filled as well as may be
    std::vector<std::array<std::int64_t, 3>> nodes_;  // buffer: ratio, GPUs, slot
};

}  // namespace gpuctl
