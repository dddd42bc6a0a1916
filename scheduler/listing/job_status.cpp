#include "scheduler/listing/job_status.hpp"

namespace gpuctl {
namespace {

bool is_service(const JobRow& job) {
    return job.record && (job.record->spec.kind == JobKind::inference ||
                          job.record->spec.kind == JobKind::compute);
}

}  // namespace

std::string_view pod_status(const PodFacts& pod) {
    if (pod.terminating && !is_terminal(pod.phase)) return "Terminating";
    return pod.status.empty() ? to_string(pod.phase) : std::string_view{pod.status};
}

bool is_ready(const PodFacts& pod) {
    return pod.phase == PodPhase::running && pod_status(pod) == "Running";
}

void PodTally::add(const PodFacts& pod) {
    if (pod.phase == PodPhase::succeeded) {
        ++succeeded;
    } else if (pod.phase == PodPhase::failed) {
        ++failed;
    } else if (pod.terminating) {
        ++terminating;
    } else if (pod.phase == PodPhase::running) {
        ++running;
    } else {
        ++pending;
    }
}

std::int64_t pods_wanted(const JobRow& job) {
    if (!job.record) {
        const PastEnds past = past_ends(job);
        return std::ssize(job.pods) + job.gang.finished.count() + past.succeeded + past.failed;
    }
    const JobSpec& spec = job.record->spec;
    if (ElasticJobs::is_elastic(job)) return job.elastic.wanted;
    const bool is_scaled = spec.kind != JobKind::training && job.workload.facts;
    if (is_scaled && job.workload.facts->replicas >= 0) return job.workload.facts->replicas;
    return is_service(job) ? spec.service.replicas : spec.replicas_max;
}

JobStatus status_of(const JobRow& job, const PodTally& tally, std::int64_t wanted) {
    if (job.workload.state == WorkloadState::deleting) return JobStatus::terminating;
    if (job.workload.state == WorkloadState::failed) return JobStatus::failed;
    const std::int64_t live = tally.pending + tally.running;
    if (live == 0 && tally.terminating > 0) return JobStatus::terminating;
    if (tally.running > 0) {
        const bool all = tally.running >= wanted || tally.pending == 0;
        return is_service(job) && !all ? JobStatus::partially_running : JobStatus::running;
    }
    if (tally.pending > 0) return JobStatus::pending;
    if (Seats::is_paused(job)) return JobStatus::suspended;
    if (job.workload.facts) {
        switch (job.workload.facts->phase) {
            case WorkloadPhase::complete:
                return JobStatus::succeeded;
            case WorkloadPhase::failed:
                return JobStatus::failed;
            case WorkloadPhase::suspended:
                return JobStatus::suspended;
            case WorkloadPhase::active:  // failed pods are created again
                return tally.succeeded > 0 && tally.succeeded >= wanted ? JobStatus::succeeded
                                                                        : JobStatus::pending;
        }
    }
    if (tally.succeeded + tally.failed == 0) {  // no pods: not created yet, or removed
        if (job.run.last_phase == PodPhase::succeeded) return JobStatus::succeeded;
        if (job.run.last_phase == PodPhase::failed) return JobStatus::failed;
        return JobStatus::pending;
    }
    // A failed pod that a controller replaced does not fail the job if all wanted pods succeeded.
    if (tally.succeeded >= wanted || tally.failed == 0) return JobStatus::succeeded;
    return JobStatus::failed;
}

}  // namespace gpuctl
