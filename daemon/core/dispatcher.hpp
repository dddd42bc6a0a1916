#pragma once
// Hands effects to the cluster adapter and measures what comes back: effect -> port call -> outcome
// event. Knows nothing of journals or planning; EngineLoop calls it only after the inputs behind
// the effects were handed to the kernel.

#include <chrono>
#include <unordered_map>

#include "daemon/aio/deadline.hpp"
#include "daemon/ports/cluster.hpp"
#include "metrics/recorder.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::core {

class Dispatcher {
public:
    explicit Dispatcher(metrics::Recorder& recorder);

    void start(ports::Cluster& cluster) { cluster_ = &cluster; }
    void dispatch(const Effect& effect);
    // Sees every input before the engine does, to close the books on binds and evictions.
    void on_event(const Event& event);

private:
    void on_bound(const BindOutcome& outcome);
    void on_evicted(const PodEvictOutcome& outcome);

    metrics::Recorder& recorder_;
    ports::Cluster* cluster_ = nullptr;
    metrics::Gauge& binds_in_flight_;
    metrics::Histogram& queue_wait_;
    std::vector<metrics::Counter*> by_kind_;
    std::unordered_map<std::uint64_t, aio::Clock::time_point> binds_;
    std::unordered_map<std::uint64_t, EvictPod> evictions_;  // that were not answered
};

}  // namespace gpuctl::core
