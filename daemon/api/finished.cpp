#include "daemon/api/finished.hpp"

#include "daemon/api/reply.hpp"

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

}  // namespace gpuctl::api
