#pragma once
// Counts and times the events of the engine loop. Depends only on the recorder.

#include <unordered_map>
#include <vector>

#include "aio/deadline.hpp"
#include "metrics/recorder.hpp"
#include "ports/engine_observer.hpp"

namespace gpuctl::core {

class MetricsObserver final : public ports::EngineObserver {
public:
    explicit MetricsObserver(metrics::Recorder& recorder);

    void on_input(const Input& input) override;
    void on_phase(ports::EnginePhase phase, std::size_t count, Span took) override;
    void on_effect(const Effect& effect, Instant now) override;
    void on_turned_away() override;
    void on_synced(Span took) override;
    void on_snapshot(ports::SnapshotResult result) override;
    void on_broken(const Error& error) override;
    void on_lag(Span late) override;

private:
    void on_bound(const BindOutcome& outcome);

    metrics::Recorder& recorder_;
    metrics::Histogram& journal_time_;
    metrics::Histogram& apply_time_;
    metrics::Histogram& plan_time_;
    metrics::Histogram& batch_;
    metrics::Histogram& lag_;
    metrics::Histogram& queue_wait_;
    metrics::Gauge& binds_in_flight_;
    std::vector<metrics::Counter*> inputs_by_kind_;
    std::vector<metrics::Counter*> effects_by_kind_;
    std::unordered_map<std::uint64_t, aio::Clock::time_point>
        binds_;  // without an answer yet, by effect
};

}  // namespace gpuctl::core
