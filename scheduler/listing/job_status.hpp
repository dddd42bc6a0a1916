#pragma once
// The words by which people are told how a job or a pod is doing: Kubernetes' (ruling 3 of the
// design), and "Partially Running" for a service of which some replicas run.

#include <cstdint>
#include <string_view>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

enum class JobStatus : std::uint8_t {
    pending,
    running,
    partially_running,
    succeeded,
    failed,
    suspended,
    terminating
};
inline constexpr std::size_t kJobStatusCount = 7;
constexpr std::string_view to_string(JobStatus status) {
    constexpr std::string_view names[] = {"Pending", "Running",   "Partially Running", "Succeeded",
                                          "Failed",  "Suspended", "Terminating"};
    static_assert(std::size(names) == kJobStatusCount);
    return names[static_cast<std::size_t>(status)];
}

constexpr std::string_view to_string(PodPhase phase) {
    constexpr std::string_view names[] = {"Pending", "Running", "Succeeded", "Failed"};
    return names[static_cast<std::size_t>(phase)];
}
// "Terminating", what its kubelet says (ContainerCreating, CrashLoopBackOff), or its phase.
std::string_view pod_status(const PodFacts& pod);
bool is_ready(const PodFacts& pod);  // all its containers run

// The pods of a job by what counts for its status; those that are gone included.
struct PodTally {
    std::int64_t pending = 0;
    std::int64_t running = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t terminating = 0;
    void add(const PodFacts& pod);
};

// So many the job is to have.
std::int64_t pods_wanted(const JobRow& job);
JobStatus status_of(const JobRow& job, const PodTally& tally, std::int64_t wanted);

}  // namespace gpuctl
