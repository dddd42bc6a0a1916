#include "daemon/core/dispatcher.hpp"

#include "daemon/diagnostics/log.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::core {
namespace {

constexpr std::string_view kEffectNames[] = {
    "BindPod",       "DeletePod", "CreateWorkload", "DeleteWorkload", "ReportPending",
    "ReportStarted", "WakeAt",    "EvictPod",       "ResizeWorkload", "DropDetails"};
static_assert(std::size(kEffectNames) == std::variant_size_v<Effect>);

std::string_view to_string(BindResult result) {
    constexpr std::string_view names[] = {"bound", "elsewhere", "gone", "refused", "failed"};
    return names[static_cast<std::size_t>(result)];
}

}  // namespace

Dispatcher::Dispatcher(metrics::Recorder& recorder)
    : recorder_(recorder),
      binds_in_flight_(recorder.gauge(metrics::Metric::binds_in_flight)),
      queue_wait_(recorder.histogram(metrics::Metric::queue_wait)) {
    for (const std::string_view name : kEffectNames) {
        by_kind_.push_back(&recorder.counter(metrics::Metric::effects, {std::string{name}}));
    }
}

void Dispatcher::dispatch(const Effect& effect) {
    by_kind_[effect.index()]->add();
    if (const auto* bind = std::get_if<BindPod>(&effect)) {
        binds_.emplace(static_cast<std::uint64_t>(bind->id), aio::Clock::now());
        binds_in_flight_.set(static_cast<double>(binds_.size()));
    } else if (const auto* started = std::get_if<ReportStarted>(&effect)) {
        queue_wait_.observe(static_cast<double>(started->waited.ms()) / 1000);
        log::info("job placed", {{"job", started->job},
                                 {"pods", started->pods.size()},
                                 {"waited_ms", started->waited.ms()}});
    } else if (const auto* rollback = std::get_if<DeletePod>(&effect)) {
        log::warn("gang rolled back",
                  {{"pod", rollback->pod.key}, {"uid", rollback->pod.uid}, {"err", rollback->why}});
    } else if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
        evictions_.insert_or_assign(static_cast<std::uint64_t>(eviction->id), *eviction);
    } else if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
        log::info("elastic job resized", {{"job", resize->key},
                                          {"from", resize->from},
                                          {"to", resize->to},
                                          {"why", resize->why}});
    }
    GPUCTL_CHECK(cluster_ != nullptr, "effects come only after start()");
    cluster_->carry_out(effect);
}

void Dispatcher::on_event(const Event& event) {
    if (const auto* bound = std::get_if<BindOutcome>(&event)) on_bound(*bound);
    if (const auto* evicted = std::get_if<PodEvictOutcome>(&event)) on_evicted(*evicted);
}

// Told when it happened: a disruption budget may say no, again and again.
void Dispatcher::on_evicted(const PodEvictOutcome& outcome) {
    const auto found = evictions_.find(static_cast<std::uint64_t>(outcome.effect));
    if (found == evictions_.end()) return;  // asked before a restart
    const EvictPod eviction = std::move(found->second);
    evictions_.erase(found);
    if (outcome.result == EvictResult::gone) return;
    const std::string beneficiary =
        eviction.beneficiary == ObjectKey{} ? "maintenance" : to_string(eviction.beneficiary);
    if (outcome.result == EvictResult::evicted) {
        return log::info("pod evicted", {{"pod", eviction.pod.key},
                                         {"uid", eviction.pod.uid},
                                         {"for", beneficiary},
                                         {"why", eviction.why}});
    }
    log::info("pod not evicted", {{"pod", eviction.pod.key},
                                  {"uid", eviction.pod.uid},
                                  {"for", beneficiary},
                                  {"err", outcome.message}});
}

void Dispatcher::on_bound(const BindOutcome& outcome) {
    const auto found = binds_.find(static_cast<std::uint64_t>(outcome.effect));
    if (found == binds_.end()) return;  // decided before a restart
    const std::chrono::duration<double> took = aio::Clock::now() - found->second;
    binds_.erase(found);
    binds_in_flight_.set(static_cast<double>(binds_.size()));
    recorder_.histogram(metrics::Metric::bind_latency, {std::string{to_string(outcome.result)}})
        .observe(took.count());
    if (outcome.result == BindResult::bound) return;
    log::warn(
        "bind not done",
        {{"uid", outcome.uid}, {"result", to_string(outcome.result)}, {"err", outcome.message}});
}

}  // namespace gpuctl::core
