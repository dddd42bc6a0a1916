#include "daemon/core/reconcile.hpp"

namespace gpuctl::core {

void Reconciler::record(const Event& event) {
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
    for (const auto& [key, id] : state.pods.pods_by_key()) {
        const std::string& uid = state.pod(id).facts.uid;
        if (!pod_uids_.contains(uid)) events.emplace_back(PodRemoved{uid});
    }
    for (const auto& [key, ranks_min] : state.gangs.gang_sizes()) {
        if (!gangs_.contains(key)) events.emplace_back(GangRemoved{key});
    }
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        // A job that only its pods define is removed with the last of them.
        const bool known = state.node(id).known;
        if (known && !node_names_.contains(name)) events.emplace_back(NodeRemoved{name});
    }
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.record || job.workload.state != WorkloadState::created) continue;
        if (!workload_job_uids_.contains(job.record->uid)) {
            events.emplace_back(WorkloadRemoved{key, job.record->uid});
        }
    }
    add_vanished_ends(state, events);
    return events;
}

// Finished jobs with a summary; pods whose uid cannot be read back are not listed: they are removed
// with the summary.
void Reconciler::add_vanished_ends(const ClusterState& state, std::vector<Event>& events) const {
    const auto add_pods = [&](const std::vector<EndedPod>& pods) {
        for (const EndedPod& pod : pods) {
            std::string uid = text_of(pod.uid);
            const bool is_gone = !uid.empty() && !pod_uids_.contains(uid);
            if (is_gone) events.emplace_back(PodRemoved{std::move(uid)});
        }
    };
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        if (state.job(id).retention.past) add_pods(state.job(id).retention.past->ended_pods);
    }
    for (const auto& [key, job] : state.jobs.finished_jobs().by_key()) {
        add_pods(job.ended_pods);
        const bool had_object = !job.uid.empty() && !job.never_made;
        if (had_object && !workload_job_uids_.contains(job.uid)) {
            events.emplace_back(WorkloadRemoved{key, job.uid});
        }
    }
}

}  // namespace gpuctl::core
