#include "daemon/api/selection.hpp"

#include <algorithm>
#include <span>

#include "daemon/api/reply.hpp"
#include "daemon/api/shapes.hpp"

namespace gpuctl::api {
namespace {

constexpr std::string_view kPhases[] = {"Pending", "Running", "Succeeded", "Failed"};
constexpr std::string_view kJobStatuses[] = {
    "Pending", "Running", "Partially Running", "Succeeded", "Failed", "Suspended", "Terminating"};
constexpr std::string_view kNodeStatuses[] = {"active", "maintaining", "faulty"};
// Why a container waits or ended, as kubelets say it. Others exist: what a pod says right now is
// known, too.
constexpr std::string_view kPodReasons[] = {"ContainerCreating",
                                            "PodInitializing",
                                            "ErrImagePull",
                                            "ImagePullBackOff",
                                            "InvalidImageName",
                                            "CrashLoopBackOff",
                                            "CreateContainerError",
                                            "CreateContainerConfigError",
                                            "Completed",
                                            "Error",
                                            "OOMKilled",
                                            "DeadlineExceeded",
                                            "Evicted"};

bool is_one_of(std::string_view text, std::span<const std::string_view> known) {
    return std::any_of(known.begin(), known.end(),
                       [&](std::string_view one) { return equal_without_case(text, one); });
}

Error unknown_status(std::string_view status, std::span<const std::string_view> known) {
    std::string list;
    for (const std::string_view one : known) {
        list += (list.empty() ? "" : ", ") + std::string{one};
    }
    return make_error(ErrorCode::BadRequest,
                      "read status=" + std::string{status} + ": must be one of " + list);
}

// Work of a pool outlives its last node.
bool has_jobs(const ClusterState& state, std::string_view pool) {
    const auto& jobs = state.jobs_by_key();
    const auto& finished = state.finished_jobs().by_key();
    return std::any_of(
               jobs.begin(), jobs.end(),
               [&](const auto& job) { return state.job(job.second).pool_wanted == pool; }) ||
           std::any_of(finished.begin(), finished.end(),
                       [&](const auto& job) { return job.second.pool == pool; });
}

}  // namespace

Result<std::string> pool_of(const ClusterState& state, const Call& call) {
    std::string pool{call.query("pool")};
    if (pool == "default-pool") pool = kDefaultPool;
    if (pool.empty()) return pool;
    std::string known;
    for (const PoolView& one : list_pools(state)) {
        if (one.name == pool) return pool;
        known += (known.empty() ? "" : ", ") + one.name;
    }
    if (has_jobs(state, pool)) return pool;
    return make_error(ErrorCode::PoolNotFound,
                      "there is no pool " + pool + "; there are: " + known);
}

std::optional<Error> bad_job_status(const ClusterState& state, std::string_view status) {
    if (status.empty() || is_one_of(status, kJobStatuses) || is_one_of(status, kPodReasons)) {
        return std::nullopt;
    }
    for (const JobView& job : list_jobs(state, {})) {
        for (const PodView& pod : job.pods) {
            if (equal_without_case(status, pod_status(pod))) return std::nullopt;
        }
    }
    Error error = unknown_status(status, kJobStatuses);
    error.message += ", or what a pod says (ContainerCreating, ImagePullBackOff, ...)";
    return error;
}

std::optional<Error> bad_node_status(std::string_view status) {
    if (status.empty() || is_one_of(status, kNodeStatuses)) return std::nullopt;
    return unknown_status(status, kNodeStatuses);
}

bool has_status(const JobView& job, std::string_view wanted) {
    return wanted.empty() || equal_without_case(wanted, job.status);
}

bool has_status(const JobView& job, const PodView& pod, std::string_view wanted) {
    return has_status(job, wanted) || equal_without_case(wanted, pod_status(pod)) ||
           equal_without_case(wanted, kPhases[static_cast<std::size_t>(pod.facts.phase)]);
}

}  // namespace gpuctl::api
