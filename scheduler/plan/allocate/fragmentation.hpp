#pragma once
// The fragmentation cost of a placement: the idle GPUs of a node that would become unusable
// (docs/adr/0015 compares it with FGD: Weng et al., "Beware of Fragmentation", USENIX ATC 2023).
// There are two causes. Other resources of the node are used up (CPU, memory, pod slots, ephemeral
// storage and any other resource that nodes with GPUs offer), so the idle GPUs have too little of
// them. And a shared device keeps a rest that no requested fraction fills.
//
// The cost is a pure function of the state; the members are caches.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Fragmentation {
public:
    static constexpr std::int64_t kDoesNotFit = std::numeric_limits<std::int64_t>::max();

    // Updates the caches; call it before the other functions.
    void update_caches(const ClusterState& state, const Capacity& capacity, PoolId pool);
    // Changes when earlier costs for this pool may be out of date.
    [[nodiscard]] std::uint64_t version(PoolId pool, const Shape& shape) const;

    // Lower is better; kDoesNotFit if the node has no room for a pod of this shape.
    [[nodiscard]] std::int64_t cost(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                    const Shape& shape) const;
    // True if this many pods of the shape would leave idle GPUs that even modest work cannot use.
    [[nodiscard]] bool strands_gpus(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                    const Shape& shape, std::int64_t pods) const;
    // The device where the fraction of a GPU costs least; kNoDevice if the shape requests no
    // fraction.
    [[nodiscard]] std::int32_t device_for(const Capacity& capacity, std::uint32_t slot,
                                          const Shape& shape) const;

private:
    // The amount of one other resource that a GPU of the pool needs on its node.
    struct NeedPerGpu {
        Column column{};
        int shift = 0;             // the column counts in units of 2^shift
        std::int64_t for_one = 0;  // amount for one GPU, > 0
        // for_one is what the pool's median GPU has; else the least that any work needs
        bool is_usual = false;
        friend bool operator==(const NeedPerGpu&, const NeedPerGpu&) = default;
    };
    struct PoolRow {
        std::uint64_t offers = 0;  // Capacity::offers when it was read
        std::uint64_t version = 1;
        std::vector<NeedPerGpu> resources;  // by column
    };
    struct Choice {
        std::int32_t device = kNoDevice;
        std::int64_t cost = 0;
    };
    void read_pool(const ClusterState& state, const Capacity& capacity, PoolId pool);
    void read_parts(const ShapeTable& shapes);
    // Idle GPUs, in millionths, that a placement makes unusable: for work that requests the usual
    // amounts for a GPU, for work that requests a modest part of those amounts, and for any work.
    struct Stranded {
        std::int64_t usual = 0;
        std::int64_t modest = 0;
        std::int64_t any = 0;
        std::int64_t large = 0;  // for pods with several GPUs, summed over sizes
    };
    [[nodiscard]] Stranded stranded_by(const Capacity& capacity, PoolId pool, std::uint32_t slot,
                                       std::int64_t idle_milli, const Shape& shape,
                                       std::int64_t pods) const;
    [[nodiscard]] std::int64_t median_free_amount(const ClusterState& state, const NodeSet& nodes,
                                                  const Capacity& capacity, Column column);
    [[nodiscard]] std::int64_t spoilt(std::int64_t rest_milli) const;
    [[nodiscard]] Choice choose_device(const Capacity& capacity, std::uint32_t slot,
                                       const Shape& shape) const;

    std::vector<PoolRow> pools_;
    std::uint64_t parts_read_ = 0;  // ShapeTable::part_changes() when it was read
    std::uint64_t parts_version_ = 1;
    bool parts_about_ = false;  // some pod requests a fraction of a GPU
    std::vector<std::int64_t> common_parts_;
    std::array<std::int64_t, kGpuMilliPerGpu + 1>
        // Waste of a rest of this size when common fractions fill the rest as well as possible.
        left_over_{};
    std::vector<std::array<std::int64_t, 3>> nodes_;  // buffer: ratio, GPUs, slot
};

}  // namespace gpuctl
