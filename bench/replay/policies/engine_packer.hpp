#pragma once
// The real engine as a packer of the openb world (docs/adr/0009): every task is a pod that is
// observed, planned once, and bound or removed again. The world counts GPUs itself and refuses what
// does not fit. The engine's numbers of shared GPUs are mapped to cards that are chosen here.
//
// Owner, thread: the replay's. `trace` must outlive it.

#include <cstdint>
#include <map>
#include <vector>

#include "bench/replay/policies/engine_policy.hpp"
#include "sim/replay/packing.hpp"

namespace gpuctl::replay {

class EnginePacker final : public Packer {
public:
    explicit EnginePacker(const PackTrace& trace);

    std::optional<Spot> choose(const PackTask& task, const Packing& world) override;

    [[nodiscard]] EngineEffort effort() const;

private:
    void step(Event event);
    [[nodiscard]] PodFacts pod_of(const PackTask& task) const;
    std::int32_t card_of(NodeIndex node, std::int32_t device, const Packing& world);

    const PackTrace* trace_;
    Engine engine_;
    EffectList effects_;
    std::uint64_t sequence_ = 0;
    std::uint64_t tasks_ = 0;
    std::vector<std::map<std::int32_t, std::int32_t>> cards_;  // by node: the card of each device
    EngineEffort effort_;
};

}  // namespace gpuctl::replay
