// The nodes: admission, image pulls, containers, and what happens to pods when their node is lost.

#include <algorithm>

#include "sim/cluster.hpp"
#include "sim/device_count.hpp"
#include "sim/draw.hpp"

namespace gpuctl::sim {

namespace {

const Taint kUnreachable{"node.kubernetes.io/unreachable", "", TaintEffect::no_schedule};
const Taint kUnreachableEvicts{"node.kubernetes.io/unreachable", "", TaintEffect::no_execute};

std::string incarnation_of(const PodFacts& pod) {
    return pod.uid + "/" + std::to_string(pod.restarts);
}

GpuMilli gpus_of(const Resources& resources, const std::string& name) {
    for (const GpuAmount& gpu : resources.gpus) {
        if (gpu.resource == name) return gpu.amount;
    }
    return GpuMilli{0};
}

}  // namespace

// The kubelet counts for itself: the pods on the node and this pod must fit into its allocatable
// amounts.
bool Cluster::admit(PodState& pod, Instant now, Out& out) {
    const NodeState& node = nodes_.at(pod.facts.node);
    const Resources& offered = node.facts.allocatable;
    const Resources& wanted = pod.facts.request;
    CpuMilli cpu = wanted.cpu;
    Bytes memory = wanted.memory;
    std::int64_t pods = 1;
    std::map<std::string, DeviceCount> gpus;
    for (const GpuAmount& gpu : wanted.gpus) {
        gpus[gpu.resource].add(gpu.amount.value(), pod.facts.gpu_device);
    }
    for (const std::string& uid : node.pods) {
        const PodFacts& other = pods_.at(uid).facts;
        const Resources& held = other.request;
        cpu += held.cpu;
        memory += held.memory;
        ++pods;
        for (auto& [name, count] : gpus) count.add(gpus_of(held, name).value(), other.gpu_device);
    }
    std::string lacking;
    if (pods > offered.pods) lacking = "pods";
    if (cpu > offered.cpu) lacking = "cpu";
    if (memory > offered.memory) lacking = "memory";
    for (const auto& [name, count] : gpus) {
        if (count.is_beyond(gpus_of(offered, name).value())) lacking = name;
    }
    if (lacking.empty()) return true;
    ++figures_.kubelet_rejections;
    fail_pod(pod, "OutOf" + lacking, now, out);
    return false;
}

void Cluster::begin_pull(PodState& pod, Instant now) {
    const Steering steering = steering_of(workload_of(pod).job.spec, settings_);
    Rng rng = draw(settings_.seed, incarnation_of(pod.facts), "start");
    const Duration pull =
        steering.image_pull ? *steering.image_pull : around(rng, settings_.image_pull);
    if (steering.outcome == Outcome::image_pull) {
        return plan_step(pod, PodStep::pull_fails, now + pull);
    }
    plan_step(pod, PodStep::starts, now + pull + around(rng, settings_.container_start));
}

bool Cluster::restarts_containers(const PodState& pod) const {
    return workload_of(pod).job.spec.kind !=
           JobKind::training;  // restartPolicy: Never, otherwise Always
}

void Cluster::start_container(PodState& pod, Instant now, Out& out) {
    pod.facts.phase = PodPhase::running;
    pod.facts.status = "Running";
    pod.facts.started_at = now;
    plan_exit(pod);
    if (pod.exit_at.happened()) plan_step(pod, PodStep::exits, pod.exit_at);
    observe(pod, out);
}

// Decides when and how this container will end, from the pod's facts alone.
void Cluster::plan_exit(PodState& pod) {
    const JobSpec& spec = workload_of(pod).job.spec;
    const Steering steering = steering_of(spec, settings_);
    const Instant started_at = pod.facts.started_at;
    const bool fails = steering.outcome == Outcome::fail || steering.outcome == Outcome::crashloop;
    pod.exit_at = steering.run_time ? started_at + *steering.run_time : Instant{};
    pod.exit_status = fails ? "Error" : "";
    pod.exit_ends_job = false;
    Rng rng = draw(settings_.seed, incarnation_of(pod.facts), "exit");
    if (settings_.faults.container_failed_per_mille > 0 &&
        rng.chance(static_cast<std::uint64_t>(settings_.faults.container_failed_per_mille),
                   1'000)) {
        const Duration longest = steering.run_time ? *steering.run_time : Duration{60'000};
        pod.exit_at = started_at + Duration{rng.between(0, longest.ms())};
        pod.exit_status = "Error";
    }
    const bool limited = spec.run_time_max > Duration{0} && spec.kind == JobKind::training;
    const Instant limit = started_at + spec.run_time_max;
    if (limited && (!pod.exit_at.happened() || pod.exit_at > limit)) {
        pod.exit_at = limit;
        pod.exit_status = "DeadlineExceeded";
        pod.exit_ends_job = true;
    }
}

void Cluster::exit_container(PodState& pod, const std::string& status, Instant now, Out& out) {
    ++pod.generation;
    pod.exit_at = now;
    if (!status.empty()) ++figures_.containers_failed;
    if (restarts_containers(pod)) {
        const std::int64_t doublings = std::min(pod.facts.restarts, 16);
        const Duration pause =
            std::min(settings_.crash_backoff * (1LL << doublings), settings_.crash_backoff_maximum);
        pod.facts.status = "CrashLoopBackOff";
        plan_step(pod, PodStep::starts, now + pause);
        return observe(pod, out);
    }
    if (!status.empty()) return fail_pod(pod, status, now, out);
    pod.facts.phase = PodPhase::succeeded;
    pod.facts.status = "Succeeded";
    pod.facts.finished_at = now;
    nodes_.at(pod.facts.node).pods.erase(pod.facts.uid);
    observe(pod, out);
    sync_workload(std::string{pod.job_uid}, now, out);
}

void Cluster::fail_pod(PodState& pod, const std::string& status, Instant now, Out& out) {
    ++pod.generation;
    pod.facts.phase = PodPhase::failed;
    pod.facts.status = status;
    pod.facts.finished_at = now;
    const auto node = nodes_.find(pod.facts.node);
    if (node != nodes_.end()) node->second.pods.erase(pod.facts.uid);
    observe(pod, out);
    Workload& workload = workloads_.at(pod.job_uid);
    rank_failed(workload, pod.exit_ends_job, now);
    // Done later, as by a controller: otherwise a pod that fails at once would make its replacement
    // fail at the same time.
    plan(WorkloadDue{workload.job.uid}, now + Duration{1});
}

void Cluster::delete_pod(const std::string& uid, bool force, Instant now, Out& out) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    PodState& pod = found->second;
    if (force || pod.facts.node.empty() || is_terminal(pod.facts.phase)) {
        ++figures_.pods_deleted;
        return remove_pod(std::string{uid}, now, out);
    }
    if (pod.facts.terminating) return;
    ++figures_.pods_deleted;
    pod.facts.terminating = true;
    pod.facts.status = "Terminating";
    ++pod.generation;
    if (!nodes_.contains(pod.facts.node)) {
        plan_step(pod, PodStep::is_gone, now + settings_.orphan_removal);
    } else if (node_answers(pod.facts.node)) {
        Rng rng = draw(settings_.seed, pod.facts.uid, "stop");
        const std::int64_t longest = std::max<std::int64_t>(1, settings_.container_stop_max.ms());
        plan_step(pod, PodStep::is_gone, now + Duration{rng.between(1, longest)});
    }
    observe(pod, out);
    // The replacement is created before the pod has ended (TerminatingOrFailed).
    plan(WorkloadDue{pod.job_uid}, now + Duration{1});
}

void Cluster::remove_pod(const std::string& uid, Instant now, Out& out) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    const PodState pod = std::move(found->second);
    pods_.erase(found);
    pod_named_.erase(pod.facts.key);
    const auto node = nodes_.find(pod.facts.node);
    if (node != nodes_.end()) node->second.pods.erase(uid);
    out.push_back(PodRemoved{uid});
    Workload& workload = workloads_.at(pod.job_uid);
    std::erase(workload.pods, uid);
    const auto namesake = workload_named_.find(workload.job.spec.key);
    if (namesake != workload_named_.end()) plan(WorkloadDue{namesake->second}, now + Duration{1});
    if (workload.deleted && workload.pods.empty()) workloads_.erase(std::string{pod.job_uid});
}

void Cluster::run_step(const PodDue& due, Instant now, Out& out) {
    const auto found = pods_.find(due.uid);
    if (found == pods_.end() || found->second.generation != due.generation) return;
    PodState& pod = found->second;
    switch (due.step) {
        case PodStep::starts:
            if (pod.facts.started_at.happened()) ++pod.facts.restarts;
            return start_container(pod, now, out);
        case PodStep::exits:
            return exit_container(pod, std::string{pod.exit_status}, now, out);
        case PodStep::pull_fails:
            pod.facts.status = "ErrImagePull";
            plan_step(pod, PodStep::pull_waits, now + Duration{1'000});
            return observe(pod, out);
        case PodStep::pull_waits:
            pod.facts.status = "ImagePullBackOff";
            return observe(pod, out);
        case PodStep::is_gone:
            return remove_pod(due.uid, now, out);
        case PodStep::is_evicted:
            return evict(pod, now, out);
    }
}

void Cluster::evict(PodState& pod, Instant now, Out& out) {
    ++figures_.pods_evicted;
    delete_pod(std::string{pod.facts.uid}, false, now, out);
}

void Cluster::lose_node(NodeState& node, Instant now, Out& out) {
    node.lost = true;
    node.facts.ready = false;
    node.facts.taints.push_back(kUnreachable);
    node.facts.taints.push_back(kUnreachableEvicts);
    out.push_back(NodeObserved{node.facts});
    for (const std::string& uid : node.pods) {
        PodState& pod = pods_.at(uid);
        ++pod.generation;
        if (!pod.facts.terminating) {
            plan_step(pod, PodStep::is_evicted, now + settings_.eviction_after);
        }
    }
}

// The kubelet restarts, and no container has survived.
void Cluster::return_node(NodeState& node, Instant now, Out& out) {
    node.lost = false;
    node.facts.ready = true;
    std::erase(node.facts.taints, kUnreachable);
    std::erase(node.facts.taints, kUnreachableEvicts);
    out.push_back(NodeObserved{node.facts});
    for (const std::string& uid : std::vector<std::string>(node.pods.begin(), node.pods.end())) {
        PodState& pod = pods_.at(uid);
        ++pod.generation;
        if (pod.facts.terminating) {
            remove_pod(uid, now, out);
        } else if (pod.facts.phase == PodPhase::pending) {
            // The pod was bound while the node was lost, so the kubelet sees it only now.
            node.pods.erase(uid);
            if (!admit(pod, now, out)) continue;
            node.pods.insert(uid);
            pod.facts.status = "ContainerCreating";
            begin_pull(pod, now);
            observe(pod, out);
        } else {
            exit_container(pod, "Error", now, out);
        }
    }
}

void Cluster::remove_node(const std::string& name, Instant now, Out& out) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return;
    const std::set<std::string> orphans = std::move(found->second.pods);
    nodes_.erase(found);
    out.push_back(NodeRemoved{name});
    for (const std::string& uid : orphans) {
        PodState& pod = pods_.at(uid);
        ++pod.generation;
        plan_step(pod, PodStep::is_gone, now + settings_.orphan_removal);
    }
}

// Continues a restored pod from the state in its facts.
void Cluster::restore_pod(PodState& pod, Instant now) {
    const PodFacts& facts = pod.facts;
    if (facts.node.empty() || is_terminal(facts.phase)) return;
    if (!nodes_.contains(facts.node)) {
        return plan_step(pod, PodStep::is_gone, now + settings_.orphan_removal);
    }
    if (!node_answers(facts.node)) {
        if (!facts.terminating) {
            plan_step(pod, PodStep::is_evicted, now + settings_.eviction_after);
        }
        return;
    }
    if (facts.terminating) return plan_step(pod, PodStep::is_gone, now + Duration{1});
    if (facts.phase == PodPhase::pending) return begin_pull(pod, now);
    plan_exit(pod);
    if (facts.status == "CrashLoopBackOff") {
        return plan_step(pod, PodStep::starts, now + settings_.crash_backoff);
    }
    if (pod.exit_at.happened()) plan_step(pod, PodStep::exits, pod.exit_at);
}

}  // namespace gpuctl::sim
