#include "scheduler/state/signals/signals.hpp"

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

bool is_known(SignalKind kind) { return static_cast<std::size_t>(kind) < kSignalKinds; }

bool is_plausible_reading(const SignalReading& reading) {
    return reading.observed_at > Instant{} && reading.window >= Duration{};
}

}  // namespace

void Signals::on(const MetricsObserved& event) {
    const std::size_t count = std::min(event.signals.size(), kSignalsPerEventMax);
    for (std::size_t i = 0; i < count; ++i) {
        const JobSignal& signal = event.signals[i];
        if (!is_known(signal.kind) || !state_.jobs.find_job(signal.job).exists()) continue;
        if (!is_plausible_reading(signal.reading)) continue;
        SignalReading reading = signal.reading;
        reading.observed_at = std::min(reading.observed_at, state_.session.event_time());
        SignalReading& kept = latest_[signal.job][signal.kind];
        if (reading.observed_at >= kept.observed_at) kept = reading;
    }
}

std::optional<SignalReading> Signals::latest(const ObjectKey& job, SignalKind kind) const {
    const auto of_job = latest_.find(job);
    if (of_job == latest_.end()) return std::nullopt;
    const auto found = of_job->second.find(kind);
    return found == of_job->second.end() ? std::nullopt : std::optional{found->second};
}

std::vector<JobSignal> Signals::image() const {
    std::vector<JobSignal> out;
    for (const auto& [job, kinds] : latest_) {
        for (const auto& [kind, reading] : kinds) out.push_back({job, kind, reading});
    }
    return out;
}

bool Signals::restore(const std::vector<JobSignal>& signals, Key<StateReader>) {
    return std::all_of(signals.begin(), signals.end(), [this](const JobSignal& signal) {
        return is_known(signal.kind) && is_plausible_reading(signal.reading) &&
               state_.jobs.find_job(signal.job).exists() &&
               latest_[signal.job].emplace(signal.kind, signal.reading).second;
    });
}

}  // namespace gpuctl
