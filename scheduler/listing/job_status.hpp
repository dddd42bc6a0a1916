#pragma once
// The status words of jobs and pods that users see: those of Kubernetes, and "Partially Running"
// for a service with some of its replicas running.

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
// "Terminating", the reason why its kubelet waits (ContainerCreating, CrashLoopBackOff), or the
// pod's phase.
std::string_view pod_status(const PodFacts& pod);
bool is_ready(const PodFacts& pod);  // all containers of the pod run

// The pods of a job counted by what decides the job's status, including pods that are gone.
struct PodTally {
    std::int64_t pending = 0;
    std::int64_t running = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t terminating = 0;
    void add(const PodFacts& pod);
};

// The number of pods that the job should have.
std::int64_t pods_wanted(const JobRow& job);
JobStatus status_of(const JobRow& job, const PodTally& tally, std::int64_t wanted);

}  // namespace gpuctl
