#pragma once
// Pods of finished jobs whose names do not begin with the name of their job, by name. Other pods
// are found by the job name with which their name begins.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/state/jobs/finished_job.hpp"

namespace gpuctl {

class EndedPodNames {
public:
    void record_job(const FinishedJob& job);  // replaces the previous entry of the job
    void forget(const ObjectKey& job);
    // Keys of jobs with a pod of this name; null: there is none.
    [[nodiscard]] const std::set<ObjectKey>* jobs_of(const ObjectKey& pod) const;

private:
    std::map<ObjectKey, std::set<ObjectKey>> jobs_;       // by pod
    std::map<ObjectKey, std::vector<std::string>> pods_;  // by job
};

}  // namespace gpuctl
