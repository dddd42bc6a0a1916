// The controllers: create and delete the pods that a job should have.

#include <algorithm>

#include "scheduler/base/check.hpp"
#include "sim/cluster.hpp"
#include "sim/pod_factory.hpp"

namespace gpuctl::sim {

namespace {

// The number of failed pods of a service that are kept for inspection.
constexpr std::size_t kFailedPodsKeptMax = 3;

constexpr std::int32_t kDoublingsMax = 16;

}  // namespace

const Workload& Cluster::workload_of(const PodState& pod) const {
    return workloads_.at(pod.job_uid);
}

void Cluster::add_workload(const JobRecord& job) {
    Workload workload;
    workload.job = job;
    workload.ranks = job.spec.replicas_max;
    workloads_.emplace(job.uid, std::move(workload));
    workload_named_[job.spec.key] = job.uid;
}

void Cluster::sync_workload(const std::string& uid, Instant now, Out& out) {
    const auto found = workloads_.find(uid);
    if (found == workloads_.end()) return;
    Workload& workload = found->second;
    if (workload.deleted) {
        for (const std::string& pod : std::vector<std::string>{workload.pods}) {
            if (!pods_.at(pod).facts.terminating) delete_pod(pod, false, now, out);
        }
        return;
    }
    if (workload.paused && !workload.finished) return stop_pods(workload, now, out);
    switch (workload.job.spec.kind) {
        case JobKind::training:
            return sync_training(workload, now, out);
        case JobKind::notebook:
            return sync_notebook(workload, now, out);
        case JobKind::inference:
        case JobKind::compute:
            return sync_service(workload, now, out);
    }
}

void Cluster::stop_pods(const Workload& workload, Instant now, Out& out) {
    for (const std::string& pod : std::vector<std::string>{workload.pods}) {
        const PodFacts& facts = pods_.at(pod).facts;
        if (!is_terminal(facts.phase) && !facts.terminating) delete_pod(pod, false, now, out);
    }
}

// Resizes like an Indexed Job whose completions and parallelism change together: surplus ranks are
// stopped with their grace period.
void Cluster::resize_training(Workload& workload, std::int32_t ranks, Instant now, Out& out) {
    ++(ranks > workload.ranks ? figures_.workloads_grown : figures_.workloads_shrunk);
    workload.ranks = ranks;
    observe(workload, out);
    const std::string uid = workload.job.uid;
    for (const std::string& pod : std::vector<std::string>{workload.pods}) {
        const PodFacts& facts = pods_.at(pod).facts;
        const bool is_too_many = facts.rank >= ranks && !is_terminal(facts.phase);
        if (is_too_many && !facts.terminating) delete_pod(pod, false, now, out);
    }
    sync_workload(uid, now, out);
}

// Acts like an Indexed Job with restartPolicy Never: each rank runs until it succeeds once. More
// than backoff_limit failures end the job and its running pods.
void Cluster::sync_training(Workload& workload, Instant now, Out& out) {
    if (workload.finished) return retire_training(workload, now, out);
    const auto ranks = static_cast<std::size_t>(workload.ranks);
    std::vector<bool> succeeded(ranks, false);
    std::vector<bool> alive(ranks, false);
    for (const std::string& uid : workload.pods) {
        const PodFacts& pod = pods_.at(uid).facts;
        const auto rank = static_cast<std::size_t>(pod.rank);
        if (rank >= ranks) continue;
        if (pod.phase == PodPhase::succeeded) succeeded[rank] = true;
        if (!is_terminal(pod.phase) && !pod.terminating) alive[rank] = true;
    }
    if (workload.failures > settings_.backoff_limit) {
        finish_training(workload, now, out);
        for (const std::string& uid : std::vector<std::string>{workload.pods}) {
            if (!is_terminal(pods_.at(uid).facts.phase)) delete_pod(uid, false, now, out);
        }
        return;
    }
    if (std::all_of(succeeded.begin(), succeeded.end(), [](bool b) { return b; })) {
        return finish_training(workload, now, out);
    }
    if (now < workload.retry_at) {
        observe(workload, out);  // the job continues: failed ranks are created again
        return plan(WorkloadDue{workload.job.uid}, workload.retry_at);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (!succeeded[rank] && !alive[rank]) {
            create_pod(workload, static_cast<std::int32_t>(rank), now, out);
        }
    }
}

// After a restart only the pods know the end time.
void Cluster::finish_training(Workload& workload, Instant now, Out& out) {
    workload.finished = true;
    for (const std::string& uid : workload.pods) {
        workload.finished_at = std::max(workload.finished_at, pods_.at(uid).facts.finished_at);
    }
    if (!workload.finished_at.happened()) workload.finished_at = now;
    observe(workload, out);
    if (settings_.finished_job_kept <= Duration{}) return;
    plan(WorkloadDue{workload.job.uid},
         std::max(now, workload.finished_at + settings_.finished_job_kept));
    workload.removal =
        std::pair{std::max(now, workload.finished_at + settings_.finished_job_kept), plans_};
}

// Reports the job as a watch of its objects does. Only jobs that users changed, whose size changes
// or whose pods failed are reported: for other jobs the pods are sufficient.
void Cluster::observe(const Workload& workload, Out& out) const {
    const JobSpec& spec = workload.job.spec;
    const bool is_training = spec.kind == JobKind::training;
    const bool changes = spec.replicas_min < spec.replicas_max || workload.failures > 0;
    if (!workload.is_changed && !(is_training && changes)) return;
    const bool has_failed = is_training && workload.failures > settings_.backoff_limit;
    WorkloadFacts facts{spec.key, workload.job.uid, WorkloadPhase::active, workload.ranks, ""};
    if (!is_training) facts.replicas = workload.paused ? 0 : spec.replicas_max;
    if (is_training && workload.paused) facts.phase = WorkloadPhase::suspended;
    if (workload.finished) {
        facts.phase = has_failed ? WorkloadPhase::failed : WorkloadPhase::complete;
    }
    out.push_back(WorkloadObserved{std::move(facts)});
}

// Acts like the TTL controller: deletes the object and its pods.
void Cluster::retire_training(Workload& workload, Instant now, Out& out) {
    if (settings_.finished_job_kept <= Duration{}) return;
    if (now < workload.finished_at + settings_.finished_job_kept) return;
    const std::string uid = workload.job.uid;
    out.push_back(WorkloadRemoved{workload.job.spec.key, uid});
    delete_workload(uid, false, now, out);
}

void Cluster::rank_failed(Workload& workload, bool ends_job, Instant now) {
    if (workload.job.spec.kind != JobKind::training) return;
    const Duration delay =
        settings_.job_retry_delay * (1LL << std::min(workload.failures, kDoublingsMax));
    workload.failures = ends_job ? settings_.backoff_limit + 1 : workload.failures + 1;
    workload.retry_at = std::max(workload.retry_at, now + std::min(delay, Duration::seconds(360)));
}

// Acts like a ReplicaSet: keeps the number of live pods, and a few failed pods for inspection.
void Cluster::sync_service(Workload& workload, Instant now, Out& out) {
    std::vector<std::string> failed;
    std::int32_t alive = 0;
    for (const std::string& uid : workload.pods) {
        const PodFacts& pod = pods_.at(uid).facts;
        if (is_terminal(pod.phase)) {
            failed.push_back(uid);
        } else if (!pod.terminating) {
            ++alive;
        }
    }
    for (; alive < workload.job.spec.replicas_max; ++alive) create_pod(workload, alive, now, out);
    std::vector<std::string> surplus;  // the youngest first
    for (auto uid = workload.pods.rbegin(); uid != workload.pods.rend(); ++uid) {
        const PodFacts& pod = pods_.at(*uid).facts;
        if (alive <= workload.job.spec.replicas_max) break;
        if (is_terminal(pod.phase) || pod.terminating) continue;
        surplus.push_back(*uid);
        --alive;
    }
    for (const std::string& uid : surplus) delete_pod(uid, false, now, out);
    for (std::size_t i = 0; i + kFailedPodsKeptMax < failed.size(); ++i) {
        remove_pod(failed[i], now, out);
    }
}

// Acts like a StatefulSet with one pod: the next pod has the same name, so the previous one must be
// gone.
void Cluster::sync_notebook(Workload& workload, Instant now, Out& out) {
    if (workload.job.spec.replicas_max == 0) return;
    if (workload.pods.empty()) {
        if (!pod_named_.contains(
                {workload.job.spec.key.namespace_name, workload.job.spec.key.name + "-0"})) {
            create_pod(workload, 0, now, out);
        }
        return;
    }
    const PodFacts& pod = pods_.at(workload.pods.front()).facts;
    if (is_terminal(pod.phase) && !pod.terminating) {
        delete_pod(std::string{pod.uid}, false, now, out);
    }
}

// The embedded cluster belongs to the engine, so details that the engine drops are not needed. The
// job itself stays; only the removal of its pods is reported.
void Cluster::deliver(const DropDetails& effect, Instant now, Out& out) {
    if (!settings_.drops_details) return;
    const auto found = workloads_.find(effect.job_uid);
    if (found == workloads_.end() || !found->second.finished || found->second.deleted) return;
    Workload& workload = found->second;
    if (workload.removal) due_.erase(*workload.removal);
    workload_named_.erase(workload.job.spec.key);
    user_events_.erase(workload.job.spec.key);
    workload.deleted = true;  // it is removed with its last pod
    const std::vector<std::string> pods = workload.pods;
    if (pods.empty()) workloads_.erase(found);
    for (const std::string& pod : pods) remove_pod(pod, now, out);
}

void Cluster::create_pod(Workload& workload, std::int32_t ordinal, Instant now, Out& out) {
    PodFacts facts;
    std::uint64_t salt = 0;
    do {
        facts = make_pod(workload.job, ordinal, now, salt++, settings_);
        GPUCTL_CHECK(salt < 1'000, "no free name for a pod after a thousand tries");
    } while (pods_.contains(facts.uid) || pod_named_.contains(facts.key));
    ++figures_.pods_created;
    workload.pods.push_back(facts.uid);
    pod_named_[facts.key] = facts.uid;
    PodState& pod = pods_[facts.uid];
    pod.facts = std::move(facts);
    pod.job_uid = workload.job.uid;
    observe(pod, out);
}

// The object and its name are freed at once; its pods follow within their grace period.
void Cluster::delete_workload(const std::string& uid, bool force, Instant now, Out& out) {
    Workload& workload = workloads_.at(uid);
    workload.deleted = true;
    workload_named_.erase(workload.job.spec.key);
    user_events_.erase(workload.job.spec.key);
    const std::vector<std::string> pods = workload.pods;
    if (pods.empty()) workloads_.erase(uid);
    for (const std::string& pod : pods) delete_pod(pod, force, now, out);
}

}  // namespace gpuctl::sim
