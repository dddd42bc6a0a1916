#include "daemon/core/reconcile.hpp"

namespace gpuctl::core {

void Reconciler::note(const Event& event) {
    if (const auto* pod = std::get_if<PodObserved>(&event)) {
        pod_uids_.insert(pod->pod.uid);
    } else if (const auto* node = std::get_if<NodeObserved>(&event)) {
        node_names_.insert(node->node.name);
    } else if (const auto* gang = std::get_if<GangObserved>(&event)) {
        gangs_.insert(gang->key);
    } else if (const auto* workload = std::get_if<WorkloadObserved>(&event)) {
        workload_job_uids_.insert(workload->workload.job_uid);
    }
}

std::vector<Event> Reconciler::vanished(const ClusterState& state) const {
    std::vector<Event> events;
    for (const auto& [key, id] : state.pods_by_key()) {
        const std::string& uid = state.pod(id).facts.uid;
        if (!pod_uids_.contains(uid)) events.emplace_back(PodRemoved{uid});
    }
    for (const auto& [key, ranks_min] : state.gang_sizes()) {
        if (!gangs_.contains(key)) events.emplace_back(GangRemoved{key});
    }
    for (const auto& [name, id] : state.nodes_by_name()) {
        // A name that only pods speak of goes with the last of them.
        const bool known = state.node(id).known;
        if (known && !node_names_.contains(name)) events.emplace_back(NodeRemoved{name});
    }
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.record || job.workload != WorkloadState::created) continue;
        if (!workload_job_uids_.contains(job.record->uid)) {
            events.emplace_back(WorkloadRemoved{key, job.record->uid});
        }
    }
    return events;
}

}  // namespace gpuctl::core
