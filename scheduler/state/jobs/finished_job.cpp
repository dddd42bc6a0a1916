#include "scheduler/state/jobs/finished_job.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/run_times/present_run.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kNodesNamed = 4;
constexpr std::size_t kMessageBytes = 200;

struct Ends {
    std::int64_t pods = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
};

Ends count_ends(const ClusterState& state, const JobRow& job) {
    Ends ends{job.gang.finished.count(), job.gang.finished.count(), 0};
    const auto count = [&ends](bool succeeded, bool failed) {
        ++ends.pods;
        if (succeeded) ++ends.succeeded;
        if (failed) ++ends.failed;
    };
    for (const PodId id : job.pods) {
        const PodPhase phase = state.pod(id).facts.phase;
        count(phase == PodPhase::succeeded, phase == PodPhase::failed);
    }
    const PastEnds past = past_ends(job);
    ends.pods += past.succeeded + past.failed;
    ends.succeeded += past.succeeded;
    ends.failed += past.failed;
    return ends;
}

std::int64_t pods_wanted(const JobRow& job) {
    const JobSpec& spec = job.record->spec;
    const bool is_service = spec.kind == JobKind::inference || spec.kind == JobKind::compute;
    if (is_service) return spec.service.replicas;
    return ElasticJobs::is_elastic(job) ? job.elastic.wanted : spec.replicas_max;
}

// Agrees with the status of the job (scheduler/listing/job_status.cpp).
bool has_failed(const JobRow& job, const Ends& ends) {
    if (job.workload.state == WorkloadState::failed) return true;
    if (!job.record) return ends.succeeded < ends.pods && ends.failed > 0;
    return job.workload.facts && job.workload.facts->phase == WorkloadPhase::failed;
}

// Limits the length without cutting a UTF-8 character.
std::string brief(std::string text) {
    if (text.size() <= kMessageBytes) return text;
    std::size_t end = kMessageBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    return text + "...";
}

std::string why_failed(const ClusterState& state, const JobRow& job) {
    const PodRow* last = nullptr;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.facts.phase != PodPhase::failed) continue;
        if (last == nullptr || pod.facts.finished_at > last->facts.finished_at) last = &pod;
    }
    std::string text;
    if (last != nullptr) {
        const PodFacts& pod = last->facts;
        text = "pod " + pod.key.name + " ended with " +
               (pod.status.empty() ? std::string{"Failed"} : pod.status) +
               (pod.node.empty() ? "" : " on node " + pod.node);
    } else if (job.workload.facts && !job.workload.facts->message.empty()) {
        text = job.workload.facts->message;
    } else {
        text = job.workload.message;
    }
    return brief(std::move(text));
}

std::string nodes_of(const ClusterState& state, const JobRow& job) {
    std::vector<std::string_view> named;
    std::set<std::string_view> all;
    for (const PodId id : job.pods) {
        const std::string& node = state.pod(id).facts.node;
        const bool is_new = !node.empty() && all.insert(node).second;
        if (is_new && named.size() < kNodesNamed) named.push_back(node);
    }
    std::string text;
    for (const std::string_view node : named) text += (text.empty() ? "" : ",") + std::string{node};
    const std::size_t more = all.size() - named.size();
    return more == 0 ? text : text + ",+" + std::to_string(more);
}

std::string gpu_type_of(const ClusterState& state, const JobRow& job) {
    PlacementRules rules;
    if (job.record) {
        set_gpu_models(job.record->spec, rules);
    } else if (!job.pods.empty()) {
        rules = state.pod(job.pods.front()).facts.rules;
    }
    std::string text;
    for (const std::string& model : gpu_models(rules)) text += (text.empty() ? "" : ",") + model;
    return text;
}

}  // namespace

bool begins_with_job(const EndedPod& pod) { return pod.name.empty() || pod.name.front() == '-'; }

std::string name_of(const EndedPod& pod, const ObjectKey& job) {
    return (begins_with_job(pod) ? shown_name(job) : std::string{}) + pod.name;
}

EndedPod ended_pod_of(const PodFacts& pod, const ObjectKey& job) {
    EndedPod out;
    out.uid = compact_uid(pod.uid);
    const std::string name = shown_name(job);
    const bool begins_with_it =
        pod.key.name.starts_with(name) &&
        (pod.key.name.size() == name.size() || pod.key.name[name.size()] == '-');
    out.name = begins_with_it ? pod.key.name.substr(name.size()) : pod.key.name;
    out.succeeded = pod.phase == PodPhase::succeeded;
    out.is_rank = pod.gang && out.succeeded && !pod.controller_uid.empty();
    return out;
}

PastEnds past_ends(const JobRow& job) {
    PastEnds ends;
    if (!job.retention.past) return ends;
    for (const EndedPod& pod : job.retention.past->ended_pods) {
        if (!pod.is_rank) ++(pod.succeeded ? ends.succeeded : ends.failed);
    }
    return ends;
}

bool has_ended(const ClusterState& state, const JobRow& job) {
    if (job.run.pods_open > 0 || job.workload.due || job.workload.in_flight) return false;
    if (!job.record)
        return !job.pods.empty() || (job.retention.past && !job.retention.past->ended_pods.empty());
    if (job.workload.state == WorkloadState::failed) return true;
    if (job.workload.state != WorkloadState::created) return false;
    if (job.record->spec.kind != JobKind::training) return false;
    if (has_fault(SeededFault::summarize_too_soon)) return !job.pods.empty();
    if (job.workload.facts) {
        return job.workload.facts->phase == WorkloadPhase::complete ||
               job.workload.facts->phase == WorkloadPhase::failed;
    }
    return count_ends(state, job).succeeded >= pods_wanted(job);
}

FinishedJob summary_of(const ClusterState& state, const JobRow& job) {
    FinishedJob out;
    if (job.retention.past) out = *job.retention.past;
    if (job.retention.past && job.pods.empty()) return out;
    const Ends ends = count_ends(state, job);
    out.key = job.key;
    out.failed = has_failed(job, ends);
    out.pool = job.pool_wanted;
    out.queue = job.priority < kSystemPriority ? state.jobs.queue_name_of(job) : "";
    out.priority = job.priority;
    out.submitted_at = job.submitted_at;
    out.started_at = run_began(state, job);
    out.finished_at = job.run.finished_at;
    out.ended_at = job.retention.ended_at;
    out.pods = ends.pods;
    for (const PodId id : job.pods) {
        const PodFacts& pod = state.pod(id).facts;
        out.gpus_per_pod = gpus_total(pod.request);
        out.gpus += out.gpus_per_pod;
        out.finished_at = std::max(out.finished_at, pod.finished_at);
    }
    if (job.record) {
        out.uid = job.record->uid;
        out.kind = job.record->spec.kind;
        out.idempotency_key = job.record->idempotency_key;
        out.never_made = job.workload.state == WorkloadState::failed && job.pods.empty();
        out.pods = pods_wanted(job);
        out.gpus_per_pod = gpus_total(pod_request(job.record->spec));
        out.gpus = out.gpus_per_pod * out.pods;
    }
    out.gpu_type = gpu_type_of(state, job);
    out.nodes = nodes_of(state, job);
    out.message = out.failed ? why_failed(state, job) : "";
    out.arrival = job.arrival;
    return out;
}

}  // namespace gpuctl
