#pragma once
// Compares two engines that took the same inputs: cheap to read, and different soon after any
// different decision, since every decision takes a number for its effect.

#include <cstdint>

#include "scheduler/engine/engine.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::core {

struct Fingerprint {
    std::uint64_t next_effect = 0;
    std::uint64_t epoch = 0;
    std::size_t jobs = 0;
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

inline Fingerprint fingerprint(const Engine& engine) {
    const ClusterState& state = engine.state();
    return {static_cast<std::uint64_t>(state.session.effect_to_come()),
            static_cast<std::uint64_t>(state.session.epoch()), state.jobs.jobs_by_key().size()};
}

}  // namespace gpuctl::core
