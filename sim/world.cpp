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
    return world;
}

}  // namespace gpuctl::sim
