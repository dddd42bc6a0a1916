// Room that paused jobs keep (docs/adr/0043-changes-of-jobs.md).

#include <algorithm>

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

// The room that paused jobs keep counts like their pods, and is no pod of the job.
void ReferenceModel::read_seats(const ClusterState& after) {
    seats_before_.clear();
    for (const auto& [uid, pod] : pods) {
        if (pod.is_seat) seats_before_.emplace(job_of(pod.facts), pod.facts.node);
    }
    std::erase_if(pods, [](const auto& one) { return one.second.is_seat; });
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        for (const PodId seat : after.job(id).seats) {
            const PodRow& row = after.pod(seat);
            ReferencePod& pod = pods[row.facts.uid];
            pod.facts = row.facts;
            pod.facts.gpu_device = row.gpu_device;
            pod.is_seat = true;
            if (row.grows_with_demand) growing_.insert(row.facts.uid);
        }
    }
}

bool ReferenceModel::keeps_room(const ObjectKey& job) const {
    return std::any_of(pods.begin(), pods.end(), [&](const auto& one) {
        return one.second.is_seat && job_of(one.second.facts) == job;
    });
}

}  // namespace gpuctl::sim
