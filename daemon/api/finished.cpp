#include "daemon/api/finished.hpp"

#include <algorithm>

#include "daemon/api/reply.hpp"
#include "daemon/wire/duration.hpp"

namespace gpuctl::api {
namespace {

std::string newest_ones(const ClusterState& state) {
    return "only the newest " + std::to_string(state.policy().finished_jobs_detailed) +
           " finished jobs keep them (policy.finishedJobsDetailed)";
}

}  // namespace

std::string not_kept_sentence(const ClusterState& state, const JobView& job) {
    if (job.summary == nullptr) return "";
    const bool has_pods = !job.summary->ended_pods.empty();
    return std::string{has_pods ? "its YAML, its events and the states of its pods are"
                                : "its pods, YAML, events and logs are"} +
           " no longer kept: " + newest_ones(state);
}

std::optional<Error> log_not_kept(const ClusterState& state, const JobView& job) {
    if (job.summary == nullptr || !job.summary->ended_pods.empty()) return std::nullopt;
    const Instant end = job.summary->finished_at;
    return make_error(ErrorCode::NotFound,
                      "read the log of job " + to_string(job.key) + ": it " +
                          (job.summary->failed ? "failed" : "finished") +
                          (end.happened() ? " at " + format_time(end) : "") +
                          ", and its pods and logs are no longer kept: " + newest_ones(state));
}

Json removed_json(const ClusterState& state, const std::optional<std::string>& namespace_name) {
    RemovedJobs sum;
    for (const auto& [of, removed] : state.finished_jobs().removed()) {
        if (namespace_name && *namespace_name != of) continue;
        sum.count += removed.count;
        sum.last_at = std::max(sum.last_at, removed.last_at);
    }
    Json body;
    body["count"] = sum.count;
    body["lastAt"] = format_time(sum.last_at);
    body["maximum"] = state.policy().finished_jobs_maximum;
    body["keptFor"] = wire::format_duration(state.policy().finished_jobs_kept_for);
    return body;
}

}  // namespace gpuctl::api
