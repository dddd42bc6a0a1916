// Reports to users: a job has started, or why it waits.

#include <algorithm>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

// Kubernetes truncates creation times to whole seconds. If a pod was seen within that second, the
// time at which it was seen is more exact.
Instant waits_since(const PodRow& pod, Instant submitted_at) {
    const Instant created_at = pod.facts.created_at;
    if (!created_at.happened()) return submitted_at;
    const bool seen_at_once =
        pod.seen_at >= created_at && pod.seen_at - created_at < Duration::seconds(1);
    return seen_at_once ? pod.seen_at : created_at;
}

}  // namespace

void add_origin(const ClusterState& state, const JobRow& job, std::vector<Fact>& facts) {
    if (const Cause* why = state.evictions.evicted_why(job.key)) {
        facts.push_back(fact::EvictedBefore{*why});
    }
    if (auto ignored = ignored_queue(state, job)) facts.push_back(std::move(*ignored));
}

void WaitingJobs::report_started(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const std::int64_t needed = state_.gangs.gang_size(job).value_or(0);
    const bool reports_half = has_fault(SeededFault::report_half_a_gang);
    if (needed > 0 && !has_started(job.gang.phase()) && !reports_half)
        return;  // a half-bound gang has not started
    ReportStarted report;
    report.job = job.key;
    std::vector<PodId> started;
    for (const PodId pod : job.pods) {
        if (!state_.pods.rows()[pod.value()].report.start_reported) started.push_back(pod);
    }
    Instant since = state_.session.event_time();
    for (const PodId pod_id : started) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        state_.pods.rows().report(pod_id, {}) = {};  // a later wait is reported again
        if (!pod.node.exists()) continue;
        since = std::min(since, waits_since(pod, job.submitted_at));
        report.pods.push_back({pod.facts.key, pod.facts.uid});
        report.nodes.push_back(state_.nodes.rows()[pod.node.value()].facts.name);
    }
    // Pods may be created long after the job: a slow controller, or an API server that did not
    // answer.
    if (job.record && !job.run.started_at.happened()) {
        since = std::min(since, job.record->submitted_at);
    }
    report.waited = state_.session.event_time() - since;
    state_.jobs.rows().report(id, {}) = {};  // a later wait is reported again
    if (auto ignored = ignored_queue(state_, job)) report.notes.push_back(std::move(*ignored));
    state_.evictions.note_start(job.key);
    if (!report.pods.empty()) effects.add(std::move(report));
}

void WaitingJobs::expect_start(PodId id) {
    state_.pods.rows().report(id, {}).start_reported = false;
}

void WaitingJobs::forget_start(PodId id) {
    state_.pods.rows().report(id, {}).start_reported = true;
}

// Reports for each waiting pod why its job waits, if that is new: another reason, another subject,
// other nodes that refuse, or a pod that was created after the last report.
void WaitingJobs::report_pending(JobId id, Explanation explanation, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    std::string story;
    ArchiveWriter writer{story};
    writer.write(explanation.reason);
    writer.write(explanation.subject);
    writer.write(explanation.tallies);
    // These facts change when pods are created or removed, not with time: then it is reported again
    // for the other pods, too.
    if (explanation.reason == Reason::gang_incomplete || explanation.reason == Reason::gated) {
        writer.write(explanation.facts);
    }
    const std::uint64_t fingerprint = hash64(story);
    state_.jobs.rows().report(id, {}) = {fingerprint, explanation.reason};
    ReportPending report;
    report.job = job.key;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        const bool waits =
            pod.bind.state == BindState::waiting || pod.bind.state == BindState::nominated;
        if (!waits || pod.facts.terminating || pod.facts.gated) {
            // the API server itself reports gated pods (PodScheduled=False, SchedulingGated)
            continue;
        }
        if (pod.report.fingerprint == fingerprint) continue;
        state_.pods.rows().report(pod_id, {}).fingerprint = fingerprint;
        report.pods.push_back({pod.facts.key, pod.facts.uid});
    }
    report.explanation = std::move(explanation);
    add_origin(state_, job, report.explanation.facts);
    if (!report.pods.empty()) effects.add(std::move(report));
}

}  // namespace gpuctl
