// What users are told of a round: that a job has started, or why it waits.

#include <algorithm>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

namespace {

// Kubernetes tells creation in whole seconds, cut off: for a pod seen within that second, the
// moment it was seen is nearer to the truth.
Instant waits_since(const PodRow& pod, Instant submitted_at) {
    const Instant created_at = pod.facts.created_at;
    if (!created_at.happened()) return submitted_at;
    const bool seen_at_once =
        pod.seen_at >= created_at && pod.seen_at - created_at < Duration::seconds(1);
    return seen_at_once ? pod.seen_at : created_at;
}

}  // namespace

void ClusterState::report_started(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    const std::int64_t needed = gang_size(job).value_or(0);
    const bool tells_half = planted(PlantedBug::tell_half_a_gang);
    if (needed > 0 && !job.gang_started && !tells_half) return;  // half bound is not started
    ReportStarted report;
    report.job = job.key;
    std::vector<PodId> started;
    for (const PodId pod : job.pods) {
        if (!pods_[pod.value()].start_reported) started.push_back(pod);
    }
    Instant since = now_;
    for (const PodId pod_id : started) {
        PodRow& pod = pods_[pod_id.value()];
        pod.start_reported = true;
        pod.reported = 0;  // when it waits again, that is news
        if (!pod.node.exists()) continue;
        since = std::min(since, waits_since(pod, job.submitted_at));
        report.pods.push_back({pod.facts.key, pod.facts.uid});
        report.nodes.push_back(nodes_[pod.node.value()].facts.name);
    }
    // Its pods may have come long after it: a slow controller, an API server that hung.
    if (job.record && !job.started_at.happened()) {
        since = std::min(since, job.record->submitted_at);
    }
    report.waited = now_ - since;
    job.reported = 0;  // when it waits again, that is news
    report.note = ignored_queue_text(*this, job);
    if (!churn_.empty()) {
        if (const auto moved = churn_.find(job.key); moved != churn_.end()) moved->second.why = "";
    }
    job.reported_reason = Reason::none;
    if (!report.pods.empty()) effects.add(std::move(report));
}

// Tells each waiting pod why its job waits, when that is news to it: another reason, another
// subject, others who refuse; or a rank that came after the others were told.
void ClusterState::report_pending(JobId id, Explanation explanation, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    std::string story;
    ArchiveWriter writer{story};
    writer.write(explanation.reason);
    writer.write(explanation.subject);
    writer.write(explanation.tallies);
    // Moved by pods that come and go, not by time: each of the others is told then.
    if (explanation.reason == Reason::gang_incomplete || explanation.reason == Reason::gated) {
        writer.write(explanation.sentence);
    }
    const std::uint64_t fingerprint = hash64(story);
    job.reported = fingerprint;
    job.reported_reason = explanation.reason;
    ReportPending report;
    report.job = job.key;
    for (const PodId pod_id : job.pods) {
        PodRow& pod = pods_[pod_id.value()];
        const bool waits =
            pod.standing == PodStanding::waiting || pod.standing == PodStanding::claimed;
        if (!waits || pod.facts.terminating || pod.facts.gated) {
            continue;  // the API server itself speaks for gated pods (S2)
        }
        if (pod.reported == fingerprint) continue;
        pod.reported = fingerprint;
        report.pods.push_back({pod.facts.key, pod.facts.uid});
    }
    report.explanation = std::move(explanation);
    // Why it waits again although it ran.
    const std::string& moved = evicted_why(job.key);
    if (!moved.empty()) report.explanation.sentence += "; it was " + moved;
    report.explanation.sentence += ignored_queue_text(*this, job);
    if (!report.pods.empty()) effects.add(std::move(report));
}

}  // namespace gpuctl
