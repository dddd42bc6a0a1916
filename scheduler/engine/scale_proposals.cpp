#include "scheduler/engine/scale_proposals.hpp"

#include <set>

namespace gpuctl {

scale::ScaleInput scale_input(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    scale::ScaleInput input;
    input.job = job.key;
    input.now = state.now();
    if (ElasticJobs::is_elastic(job)) {
        input.replicas = job.elastic.wanted;
        input.replicas_min = job.record->spec.replicas_min;
        input.replicas_max = job.record->spec.replicas_max;
    } else {
        input.replicas = static_cast<std::int32_t>(job.pods.size());
        input.replicas_min = input.replicas_max = input.replicas;
    }
    const auto found = state.signals.all().find(job.key);
    if (found == state.signals.all().end()) return input;
    for (const auto& [kind, reading] : found->second) input.signals.push_back({kind, reading});
    return input;
}

std::vector<scale::ScaleProposal> scale_proposals(const ClusterState& state,
                                                  const MetricsObserved& event,
                                                  std::span<const scale::ScaleRule> rules) {
    std::set<ObjectKey> jobs;
    for (const JobSignal& signal : event.signals) jobs.insert(signal.job);
    std::vector<scale::ScaleProposal> out;
    for (const ObjectKey& key : jobs) {
        const JobId id = state.jobs.find_job(key);
        if (!id.exists()) continue;
        if (auto proposal = scale::propose(scale_input(state, id), rules)) {
            out.push_back(std::move(*proposal));
        }
    }
    return out;
}

}  // namespace gpuctl
