// I3 again: the waiting GPUs of a queue are what its waiting jobs request.

#include <map>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl {

void verify_demand(const ClusterState& state, std::vector<Violation>& found) {
    std::map<QueueId, GpuMilli> waiting;
    Readiness ready;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.waiting.in_class.exists()) continue;
        waiting[state.waiting.book().at(job.waiting.in_class).key.queue] += job.waiting.gpus;
        if (job.is_dirty) continue;  // counted again in the next Plan
        state.waiting.read_readiness(id, ready);
        GpuMilli asked;
        for (const PodId pod : ready.pods)
            asked += state.pods.shapes().at(state.pod(pod).shape).gpus;
        if (asked != job.waiting.gpus) {
            found.push_back({"I3", "job " + to_string(key) + " waits for other GPUs than counted"});
        }
    }
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        for (const QueueId id : state.pool(pool).queues) {
            const auto known = waiting.find(id);
            if (state.queue(id).waiting == (known == waiting.end() ? GpuMilli{} : known->second)) {
                continue;
            }
            found.push_back({"I3", "queue " + state.queue(id).name + " counts another wait"});
        }
    }
}

}  // namespace gpuctl
