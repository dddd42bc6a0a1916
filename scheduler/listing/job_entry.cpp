#include "scheduler/listing/job_entry.hpp"

#include <algorithm>

#include "scheduler/listing/missing_pods.hpp"
#include "scheduler/state/run_times/present_run.hpp"

namespace gpuctl {
namespace {

void count(PodsAlike of, JobEntry& entry) {
    for (PodsAlike& known : entry.pods) {
        if (known.status == of.status && known.phase == of.phase) {
            ++known.count;
            return;
        }
    }
    of.count = 1;
    entry.pods.push_back(of);
}

void add_load(const ClusterState& state, const PodRow& pod, JobLoad& load) {
    const GpuMilli gpus = state.shape_of(pod).gpus;
    if (pod.node.exists()) {
        load.gpus_held += gpus;
        const Resources& request = pod.facts.request;
        load.on_nodes.add({gpus_total(request), request.cpu, request.memory});
    }
    if (pod.bind.state == BindState::nominated) load.gpus_nominated += gpus;
    if (pod.facts.terminating) return;
    if (pod.bind.state == BindState::waiting) {
        load.waits = true;
        load.gpus_waiting += gpus;
    }
    load.runs =
        load.runs || pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
}

JobEntry named(const ObjectKey& key) {
    JobEntry entry;
    entry.key = key;
    const std::size_t colon = key.name.find(':');
    if (colon != std::string::npos) entry.shown_at = static_cast<std::uint32_t>(colon) + 1;
    return entry;
}

}  // namespace

std::string_view shown_node(const ClusterState& state, const PodRow& pod) {
    if (pod.bind.state == BindState::nominated) return {};
    if (pod.node.exists()) return state.node(pod.node).facts.name;
    const bool is_node_reported =
        pod.bind.state == BindState::done || pod.bind.state == BindState::foreign;
    return is_node_reported ? std::string_view{pod.facts.node} : std::string_view{};
}

std::string shown_queue(const ClusterState& state, const JobRow& job) {
    return job.priority < kSystemPriority ? state.jobs.queue_name_of(job) : std::string{};
}

void EntryReader::add_pods(const ClusterState& state, const JobRow& job, ListingNames& names,
                           JobEntry& entry) {
    PodTally tally;
    const PastEnds past = past_ends(job);
    tally.succeeded = job.gang.finished.count() + past.succeeded;
    tally.failed = past.failed;
    std::int64_t missing = entry.pods_wanted;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        tally.add(pod.facts);
        count({names.statuses.id_of(pod_status(pod.facts)),
               names.statuses.id_of(to_string(pod.facts.phase)), 0},
              entry);
        add_load(state, pod, entry.load);
        if (is_ready(pod.facts)) ++entry.pods_ready;
        if (!job.record) entry.gpus_per_pod = state.shape_of(pod).gpus;
        if (pod.facts.terminating) continue;  // its replacement counts
        entry.gpus_of_all += gpus_total(pod.facts.request);
        --missing;
    }
    for (const PodId seat : job.seats) add_load(state, state.pod(seat), entry.load);
    entry.has_pods = !job.pods.empty();
    if (entry.has_pods) entry.rows = static_cast<std::uint32_t>(job.pods.size());
    entry.gpus_of_all += entry.gpus_per_pod * std::max<std::int64_t>(missing, 0);
    entry.pods_running = tally.running;
    entry.status = status_of(job, tally, entry.pods_wanted);
    entry.status_word = names.statuses.id_of(to_string(entry.status));
}

void EntryReader::add_wait(const ClusterState& state, JobId id, JobEntry& entry) {
    const JobRow& job = state.job(id);
    if (job.waiting.in_class.exists()) {
        entry.waits = WaitKind::in_queue;
        return;
    }
    if (entry.load.waits || entry.load.gpus_nominated > GpuMilli{} || job.nomination.exists()) {
        state.waiting.read_readiness(id, ready_);
        if (ready_.waits) {
            entry.held = ready_.hold;
            entry.waits = ready_.hold == Reason::none ? WaitKind::untried : WaitKind::held;
            return;
        }
    }
    if (!job.record && !has_started(job.gang.phase())) return;
    if (const auto missing = explain_missing_pods(state, job)) entry.held = missing->reason;
}

JobEntry EntryReader::read(const ClusterState& state, JobId id, ListingNames& names) {
    const JobRow& job = state.job(id);
    JobEntry entry = named(job.key);
    entry.job = id;
    entry.arrival = job.arrival;
    entry.namespace_name = names.names.intern(job.key.namespace_name);
    entry.pool = names.names.intern(job.pool_wanted);
    entry.queue = names.names.intern(shown_queue(state, job));
    entry.pool_id = job.pool;
    entry.queue_id = job.queue;
    if (job.record) {
        entry.kind = job.record->spec.kind;
        entry.gpus_per_pod = gpus_total(pod_request(job.record->spec));
    }
    entry.started_at = run_began(state, job);
    entry.pods_wanted = pods_wanted(job);
    add_pods(state, job, names, entry);
    add_wait(state, id, entry);
    return entry;
}

JobEntry EntryReader::read(const FinishedJob& summary, ListingNames& names) {
    JobEntry entry = named(summary.key);
    entry.summary = &summary;
    entry.arrival = summary.arrival;
    entry.namespace_name = names.names.intern(summary.key.namespace_name);
    entry.pool = names.names.intern(summary.pool);
    entry.queue = names.names.intern(summary.queue);
    if (!summary.uid.empty()) entry.kind = summary.kind;
    entry.status = summary.failed ? JobStatus::failed : JobStatus::succeeded;
    entry.status_word = names.statuses.id_of(to_string(entry.status));
    entry.pods_wanted = summary.pods;
    entry.gpus_per_pod = summary.gpus_per_pod;
    entry.gpus_of_all = summary.gpus;
    entry.started_at = summary.started_at;
    return entry;
}

}  // namespace gpuctl
