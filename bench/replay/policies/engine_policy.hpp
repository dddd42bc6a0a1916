#pragma once
// The real engine as a policy of the replay world (docs/adr/0009): what happens in the world
// becomes the events that the daemon would send, and the engine's decisions become starts on the
// nodes that it chose. The world counts GPUs itself. A start that it refuses, or a node on which
// both count different free GPUs, ends the replay.
//
// Owner, thread: the replay's. `trace` must outlive it.

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "sim/replay/world.hpp"

namespace gpuctl::replay {

// The daemon's configuration for one kind of suite; its only pool is "default".
struct EngineSetup {
    gpuctl::Policy policy;
    // vc: a virtual cluster is a queue; otherwise an owner is a tenant
    bool owners_are_queues = false;
    bool may_be_evicted = false;  // jobs may be preempted; they keep their progress
};

// The effort of the engine without that of the replay world.
struct EngineEffort {
    std::uint64_t inputs = 0;
    std::uint64_t plans = 0;
    std::uint64_t attempts = 0;
    std::uint64_t starts = 0;
    std::uint64_t stops = 0;
    double seconds = 0;  // inside Engine::step()
};

class EnginePolicy final : public Policy {
public:
    EnginePolicy(const Trace& trace, const WorldSettings& settings, EngineSetup setup);

    std::optional<Instant> decide(World& world) override;

    [[nodiscard]] EngineEffort effort() const;
    [[nodiscard]] const Engine& engine() const { return engine_; }

private:
    void step(Event event);
    [[nodiscard]] std::vector<PodFacts> pods_of(JobIndex index) const;
    [[nodiscard]] PodFacts rank_of(JobIndex index, std::int32_t rank, std::int32_t gpus) const;
    void apply_log(const World& world);
    void carry_out(World& world);
    void start(World& world, const std::vector<BindPod>& round);
    void stop(World& world, const std::vector<EvictPod>& evicted);
    void compare_with_engine(const World& world) const;

    const Trace* trace_;
    WorldSettings settings_;
    EngineSetup setup_;
    Engine engine_;
    std::uint64_t sequence_ = 0;
    Instant now_ = World::kBegin;
    EffectList effects_;
    std::vector<BindPod> round_;  // ranks of one job that are being collected
    std::size_t log_read_ = 0;    // entries of World::log() that were read
    // A preempted job is submitted again as other pods, with its remaining work.
    struct Incarnation {
        std::int64_t number = 0;
        Duration left;  // known to a clairvoyant policy only
    };
    std::vector<Incarnation> incarnations_;  // by JobIndex
    std::optional<Instant> wake_;
    EngineEffort effort_;
};

}  // namespace gpuctl::replay
