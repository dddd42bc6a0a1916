#pragma once
// Writes the log lines about what the engine loop takes and decides: a line for each change that an
// operator would report to a colleague.

#include <unordered_map>

#include "ports/engine_observer.hpp"

namespace gpuctl::core {

class LogObserver final : public ports::EngineObserver {
public:
    void on_input(const Input& input) override;
    void on_effect(const Effect& effect, Instant now) override;
    void on_snapshot(ports::SnapshotResult result) override;
    void on_broken(const Error& error) override;

private:
    void on_evicted(const PodEvictOutcome& outcome);

    bool synced_ = false;
    std::unordered_map<std::uint64_t, EvictPod> evictions_;  // without an answer yet, by effect
};

}  // namespace gpuctl::core
