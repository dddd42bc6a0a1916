#include "daemon/core/log_observer.hpp"

#include "daemon/core/outcome_names.hpp"
#include "daemon/diagnostics/log.hpp"
#include "wording/wording.hpp"

namespace gpuctl::core {

void LogObserver::on_input(const Input& input) {
    const Event& event = input.event;
    if (std::holds_alternative<CacheSynced>(event)) {
        if (!synced_) log::info("cluster lists complete");
        synced_ = true;
    } else if (const auto* leadership = std::get_if<LeadershipChanged>(&event)) {
        log::info("leadership changed", {{"leading", leadership->leading},
                                         {"epoch", static_cast<std::uint64_t>(leadership->epoch)}});
    } else if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
        log::info("job submitted", {{"job", submitted->job.spec.key},
                                    {"kind", to_string(submitted->job.spec.kind)},
                                    {"uid", submitted->job.uid}});
    } else if (const auto* deletion = std::get_if<JobDeleteRequested>(&event)) {
        log::info("job deletion requested", {{"job", deletion->key}, {"force", deletion->force}});
    } else if (const auto* change = std::get_if<JobUpdated>(&event)) {
        log::info(
            "job change requested",
            {{"job", change->key}, {"kind", to_string(change->change.kind)}, {"uid", change->uid}});
    } else if (const auto* bound = std::get_if<BindOutcome>(&event)) {
        if (bound->result == BindResult::bound) return;
        log::warn(
            "bind not done",
            {{"uid", bound->uid}, {"result", name_of(bound->result)}, {"err", bound->message}});
    } else if (const auto* evicted = std::get_if<PodEvictOutcome>(&event)) {
        on_evicted(*evicted);
    } else if (const auto* workload = std::get_if<WorkloadOutcome>(&event)) {
        if (workload->done) return;
        log::warn("workload not written", {{"job", workload->key},
                                           {"retryable", workload->retryable},
                                           {"err", workload->message}});
    }
}

void LogObserver::on_effect(const Effect& effect, Instant) {
    if (const auto* started = std::get_if<ReportStarted>(&effect)) {
        log::info("job placed", {{"job", started->job},
                                 {"pods", started->pods.size()},
                                 {"waited_ms", started->waited.ms()}});
    } else if (const auto* rollback = std::get_if<DeletePod>(&effect)) {
        log::warn("gang rolled back", {{"pod", rollback->pod.key},
                                       {"uid", rollback->pod.uid},
                                       {"err", wording::rollback_text()}});
    } else if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
        evictions_.insert_or_assign(static_cast<std::uint64_t>(eviction->id), *eviction);
    } else if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
        log::info("elastic job resized", {{"job", resize->key},
                                          {"from", resize->from},
                                          {"to", resize->to},
                                          {"why", wording::cause_text(resize->why)}});
    }
}

// Logged when the cluster has answered: a disruption budget may refuse again and again.
void LogObserver::on_evicted(const PodEvictOutcome& outcome) {
    const auto found = evictions_.find(static_cast<std::uint64_t>(outcome.effect));
    if (found == evictions_.end()) return;  // requested before a restart
    const EvictPod eviction = std::move(found->second);
    evictions_.erase(found);
    if (outcome.result == EvictResult::gone) return;
    const std::string preemptor =
        eviction.preemptor == ObjectKey{} ? "maintenance" : to_string(eviction.preemptor);
    if (outcome.result == EvictResult::evicted) {
        return log::info("pod evicted", {{"pod", eviction.pod.key},
                                         {"uid", eviction.pod.uid},
                                         {"for", preemptor},
                                         {"why", wording::cause_text(eviction.why)}});
    }
    log::info("pod not evicted", {{"pod", eviction.pod.key},
                                  {"uid", eviction.pod.uid},
                                  {"for", preemptor},
                                  {"err", outcome.message}});
}

void LogObserver::on_snapshot(ports::SnapshotResult result) {
    if (result != ports::SnapshotResult::rescued) return;
    log::error(
        "the journal's files were damaged and are replaced by a snapshot of the state in memory; "
        "nothing is lost, but check the disk: further damage may be found only at a restart");
}

void LogObserver::on_broken(const Error& error) {
    log::error("journal failed, no work is accepted until a restart", {{"err", error.message}});
}

}  // namespace gpuctl::core
