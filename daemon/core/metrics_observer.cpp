#include "daemon/core/metrics_observer.hpp"

#include "daemon/core/outcome_names.hpp"

namespace gpuctl::core {
namespace {

using metrics::Metric;

constexpr std::string_view kEventNames[] = {"NodeObserved",
                                            "NodeRemoved",
                                            "PodObserved",
                                            "PodRemoved",
                                            "GangObserved",
                                            "GangRemoved",
                                            "CacheSynced",
                                            "JobSubmitted",
                                            "JobDeleteRequested",
                                            "PolicyChanged",
                                            "BindOutcome",
                                            "PodDeleteOutcome",
                                            "WorkloadOutcome",
                                            "LeadershipChanged",
                                            "WokeUp",
                                            "Plan",
                                            "WorkloadObserved",
                                            "WorkloadRemoved",
                                            "JobAdopted",
                                            "PodEvictOutcome",
                                            "WorkloadResizeOutcome",
                                            "DeviceClassObserved",
                                            "DeviceClassRemoved",
                                            "MetricsObserved",
                                            "JobUpdated",
                                            "PolicyObjectsChanged",
                                            "NodeChangeRequested",
                                            "NodeChangeOutcome"};
static_assert(std::size(kEventNames) == std::variant_size_v<Event>);

constexpr std::string_view kEffectNames[] = {
    "BindPod", "DeletePod", "CreateWorkload", "DeleteWorkload", "ReportPending",  "ReportStarted",
    "WakeAt",  "EvictPod",  "ResizeWorkload", "DropDetails",    "UpdateWorkload", "ChangeNode"};
static_assert(std::size(kEffectNames) == std::variant_size_v<Effect>);

double seconds_of(ports::EngineObserver::Span span) {
    return std::chrono::duration<double>(span).count();
}

}  // namespace

MetricsObserver::MetricsObserver(metrics::Recorder& recorder)
    : recorder_(recorder),
      journal_time_(recorder.histogram(Metric::cycle_phase, {"journal"})),
      apply_time_(recorder.histogram(Metric::cycle_phase, {"apply"})),
      plan_time_(recorder.histogram(Metric::cycle_phase, {"plan"})),
      batch_(recorder.histogram(Metric::batch)),
      lag_(recorder.histogram(Metric::loop_lag)),
      queue_wait_(recorder.histogram(Metric::queue_wait)),
      binds_in_flight_(recorder.gauge(Metric::binds_in_flight)) {
    for (const std::string_view name : kEventNames) {
        inputs_by_kind_.push_back(&recorder.counter(Metric::inputs, {std::string{name}}));
    }
    for (const std::string_view name : kEffectNames) {
        effects_by_kind_.push_back(&recorder.counter(Metric::effects, {std::string{name}}));
    }
}

void MetricsObserver::on_input(const Input& input) {
    inputs_by_kind_[input.event.index()]->add();
    if (const auto* bound = std::get_if<BindOutcome>(&input.event)) on_bound(*bound);
}

void MetricsObserver::on_phase(ports::EnginePhase phase, std::size_t count, Span took) {
    switch (phase) {
        case ports::EnginePhase::journal:
            batch_.observe(static_cast<double>(count));
            return journal_time_.observe(seconds_of(took));
        case ports::EnginePhase::apply:
            return apply_time_.observe(seconds_of(took));
        case ports::EnginePhase::plan:
            return plan_time_.observe(seconds_of(took));
    }
}

void MetricsObserver::on_effect(const Effect& effect, Instant) {
    if (std::holds_alternative<WakeAt>(effect)) return;  // for the loop's timer, not the adapter
    effects_by_kind_[effect.index()]->add();
    if (const auto* bind = std::get_if<BindPod>(&effect)) {
        binds_.emplace(static_cast<std::uint64_t>(bind->id), aio::Clock::now());
        binds_in_flight_.set(static_cast<double>(binds_.size()));
    } else if (const auto* started = std::get_if<ReportStarted>(&effect)) {
        queue_wait_.observe(static_cast<double>(started->waited.ms()) / 1000);
    }
}

void MetricsObserver::on_bound(const BindOutcome& outcome) {
    const auto found = binds_.find(static_cast<std::uint64_t>(outcome.effect));
    if (found == binds_.end()) return;  // decided before a restart
    const Span took = aio::Clock::now() - found->second;
    binds_.erase(found);
    binds_in_flight_.set(static_cast<double>(binds_.size()));
    recorder_.histogram(Metric::bind_latency, {std::string{name_of(outcome.result)}})
        .observe(seconds_of(took));
}

void MetricsObserver::on_turned_away() { recorder_.counter(Metric::mailbox_refused).add(); }

void MetricsObserver::on_synced(Span took) {
    recorder_.histogram(Metric::journal_sync).observe(seconds_of(took));
}

void MetricsObserver::on_snapshot(ports::SnapshotResult result) {
    using Result = ports::SnapshotResult;
    const bool is_rescue = result == Result::rescued || result == Result::rescue_failed;
    if (is_rescue) recorder_.counter(Metric::loop_exports).add();
    const char* label = result == Result::written   ? "ok"
                        : result == Result::rescued ? "rescued"
                                                    : "failed";
    recorder_.counter(Metric::journal_snapshots, {label}).add();
}

void MetricsObserver::on_broken(const Error&) { recorder_.gauge(Metric::journal_failed).set(1); }

void MetricsObserver::on_lag(Span late) { lag_.observe(seconds_of(late)); }

}  // namespace gpuctl::core
