#include "sim/world.hpp"

#include <algorithm>
#include <tuple>

namespace gpuctl::sim {

World read_world(const Engine& engine) {
    World world;
    const ClusterState& state = engine.state();
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (state.node(id).known) world.nodes.push_back(state.node(id).facts);
    }
    // In the order in which lists show jobs.
    std::vector<std::pair<std::string, JobId>> jobs;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) jobs.emplace_back(shown_name(key), id);
    std::stable_sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) {
        return std::tie(state.job(a.second).key.namespace_name, a.first) <
               std::tie(state.job(b.second).key.namespace_name, b.first);
    });
    for (const auto& [name, id] : jobs) {
        const JobRow& row = state.job(id);
        if (row.record) {
            // Its status may be Terminating only because its last pods are terminating.
            const bool is_deleted = row.workload.state == WorkloadState::deleting;
            // A change that is not answered yet is sent again.
            const ChangeRow& change = row.change;
            const bool is_paused = change.before ? change.was_paused : Seats::is_paused(row);
            world.jobs.push_back({change.before ? *change.before : *row.record, is_deleted,
                                  row.elastic.size, is_paused, change.revision > 0});
        }
        for (const PodId pod_id : row.pods) {
            const PodRow& pod = state.pod(pod_id);
            PodFacts facts = pod.facts;
            if (facts.node.empty() && pod.bind.state == BindState::bound) {
                facts.node = state.node(pod.node).facts.name;
                facts.gpu_device = pod.gpu_device;
            }
            world.pods.push_back(std::move(facts));
        }
    }
    const auto add_ended = [&world](const FinishedJob& of) {
        for (const EndedPod& pod : of.ended_pods) {
            std::string uid = text_of(pod.uid);
            if (!uid.empty()) world.ended_pods.push_back(std::move(uid));
        }
    };
    for (const auto& [key, job] : engine.state().jobs.finished_jobs().by_key()) add_ended(job);
    for (const auto& [key, id] : engine.state().jobs.jobs_by_key()) {
        if (const auto& past = engine.state().job(id).retention.past) add_ended(*past);
    }
    return world;
}

}  // namespace gpuctl::sim
