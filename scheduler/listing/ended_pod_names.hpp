#pragma once
// Pods of finished jobs that are not called after their job, by name. All others are found by the
// name of the job that theirs begins with.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/state/finished_job.hpp"

namespace gpuctl {

class EndedPodNames {
public:
    void note(const FinishedJob& job);  // in the place of what was known of it
    void forget(const ObjectKey& job);
    // Keys of jobs with such a pod; null: none.
    [[nodiscard]] const std::set<ObjectKey>* jobs_of(const ObjectKey& pod) const;

private:
    std::map<ObjectKey, std::set<ObjectKey>> jobs_;       // by pod
    std::map<ObjectKey, std::vector<std::string>> pods_;  // by job
};

}  // namespace gpuctl
