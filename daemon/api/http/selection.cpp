#include "daemon/api/http/selection.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/listing/job_status.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

constexpr std::array<std::string_view, kJobStatusCount> kJobStatuses = [] {
    std::array<std::string_view, kJobStatusCount> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = to_string(static_cast<JobStatus>(i));
    return names;
}();
constexpr std::string_view kNodeStatuses[] = {"active", "maintaining", "faulty"};
// Why a container waits or ended, as kubelets report it. Other reasons exist: a reason that
// a pod reports now is accepted, too.
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

}  // namespace

Error unknown_pool(const ClusterState& state, std::string name) {
    fact::PoolUnknown unknown{std::move(name), {}};
    for (const auto& [pool, id] : state.tree.pools_by_name()) {
        if (state.tree.pool_exists(id)) unknown.pools.push_back(pool);
    }
    return wording::error_of({ErrorCode::PoolNotFound, std::move(unknown)});
}

Result<std::string> pool_of(const Listing& listing, const Call& call) {
    std::string pool{call.query("pool")};
    if (pool == "default-pool") pool = kDefaultPool;
    if (pool.empty()) return pool;
    const ClusterState& state = listing.state();
    if (state.tree.find_pool(pool).exists()) return pool;
    // Jobs of a pool remain when its last node is gone.
    if (listing.jobs().jobs_of_pool(listing.names().names.find(pool)) > 0) return pool;
    return unknown_pool(state, pool);
}

std::optional<Error> bad_job_status(const Listing& listing, std::string_view status) {
    if (status.empty() || is_one_of(status, kJobStatuses) || is_one_of(status, kPodReasons)) {
        return std::nullopt;
    }
    if (listing.jobs().pods_that_say(listing.names().statuses.find(status)) > 0) {
        return std::nullopt;
    }
    Error error = unknown_status(status, kJobStatuses);
    error.message += ", or a reason of a pod (ContainerCreating, ImagePullBackOff, ...)";
    return error;
}

std::optional<Error> bad_node_status(std::string_view status) {
    if (status.empty() || is_one_of(status, kNodeStatuses)) return std::nullopt;
    return unknown_status(status, kNodeStatuses);
}

}  // namespace gpuctl::api
