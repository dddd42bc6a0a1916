#include "daemon/api/jobs/finished.hpp"

#include "daemon/api/http/reply.hpp"

namespace gpuctl::api {
namespace {

std::string newest_ones(const ClusterState& state) {
    return "only the newest " + std::to_string(state.policy().finished_jobs_detailed) +
           " finished jobs are stored with them (policy.finishedJobsDetailed)";
}

}  // namespace

std::string not_kept_sentence(const ClusterState& state, const JobView& job) {
    if (job.summary == nullptr) return "";
    const bool has_pods = !job.summary->ended_pods.empty();
    return std::string{has_pods ? "its YAML, its events and the states of its pods are"
                                : "its pods, YAML, events and logs are"} +
           " not stored any more: " + newest_ones(state);
}

std::optional<Error> log_not_kept(const ClusterState& state, const JobView& job) {
    if (job.summary == nullptr || !job.summary->ended_pods.empty()) return std::nullopt;
    const Instant end = job.summary->finished_at;
    return make_error(ErrorCode::NotFound,
                      "read the log of job " + to_string(job.key) + ": it " +
                          (job.summary->failed ? "failed" : "finished") +
                          (end.happened() ? " at " + format_time(end) : "") +
                          ", and its pods and logs are not stored any more: " + newest_ones(state));
}

}  // namespace gpuctl::api
