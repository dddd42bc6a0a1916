#include "sim/world.hpp"

namespace gpuctl::sim {

World read_world(const Engine& engine) {
    World world;
    for (const NodeView& node : list_nodes(engine.state())) world.nodes.push_back(node.facts);
    for (const JobView& job : list_jobs(engine.state(), JobFilter{})) {
        if (job.record != nullptr) {
            const JobRow& row = engine.state().job(engine.state().find_job(job.key));
            // Its status may say Terminating because its last pods are on their way out.
            const bool is_deleted = row.workload == WorkloadState::deleting;
            world.jobs.push_back({*job.record, is_deleted, row.elastic.size});
        }
        for (const PodView& pod : job.pods) {
            PodFacts facts = pod.facts;
            if (facts.node.empty() && pod.standing == PodStanding::bound) {
                facts.node = pod.node;
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
    for (const auto& [key, job] : engine.state().finished_jobs().by_key()) add_ended(job);
    for (const auto& [key, id] : engine.state().jobs_by_key()) {
        if (const auto& past = engine.state().job(id).past) add_ended(*past);
    }
    return world;
}

}  // namespace gpuctl::sim
