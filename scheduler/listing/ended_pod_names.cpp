#include "scheduler/listing/ended_pod_names.hpp"

namespace gpuctl {

void EndedPodNames::record_job(const FinishedJob& job) {
    forget(job.key);
    for (const EndedPod& pod : job.ended_pods) {
        if (begins_with_job(pod)) continue;
        jobs_[{job.key.namespace_name, pod.name}].insert(job.key);
        pods_[job.key].push_back(pod.name);
    }
}

void EndedPodNames::forget(const ObjectKey& job) {
    const auto known = pods_.find(job);
    if (known == pods_.end()) return;
    for (const std::string& pod : known->second) {
        const auto jobs = jobs_.find({job.namespace_name, pod});
        if (jobs == jobs_.end()) continue;
        jobs->second.erase(job);
        if (jobs->second.empty()) jobs_.erase(jobs);
    }
    pods_.erase(known);
}

const std::set<ObjectKey>* EndedPodNames::jobs_of(const ObjectKey& pod) const {
    const auto found = jobs_.find(pod);
    return found == jobs_.end() ? nullptr : &found->second;
}

}  // namespace gpuctl
