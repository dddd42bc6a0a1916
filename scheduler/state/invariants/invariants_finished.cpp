// I23: finished jobs are kept as the policy requires, and nothing else is left of a summarized job.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl {
namespace {

void verify_ends(const ClusterState& state, std::vector<Violation>& found) {
    std::size_t ended = 0;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const auto name = [key = &key] { return "job " + to_string(*key); };
        const auto open = std::count_if(job.pods.begin(), job.pods.end(), [&](PodId pod) {
            return !is_terminal(state.pod(pod).facts.phase);
        });
        if (job.run.pods_open != open) {
            found.push_back({"I23", name() + " counts another number of pods that have not ended"});
        }
        const bool is_listed = state.jobs.finished_jobs().in_full().contains(
            {job.retention.ended_at, job.arrival, id});
        const bool is_in_full = job.retention.phase() == RetentionPhase::in_full;
        if (is_in_full) ++ended;
        if (has_ended(state, job) != is_in_full || is_listed != is_in_full) {
            found.push_back(
                {"I23", name() + " has ended and is not listed so, or the other way round"});
        }
    }
    if (ended != state.jobs.finished_jobs().in_full().size()) {
        found.push_back({"I23", "a job is listed as finished that does not exist"});
    }
}

void verify_limits(const ClusterState& state, std::vector<Violation>& found) {
    const FinishedJobs& finished = state.jobs.finished_jobs();
    const Policy& policy = state.policy();
    const auto size_of = [](std::int32_t limit) {
        return static_cast<std::size_t>(std::max(limit, 0));
    };
    const std::size_t most = size_of(policy.finished_jobs_maximum);
    if (finished.in_full().size() > std::min(most, size_of(policy.finished_jobs_detailed)) ||
        finished.size() > most) {
        found.push_back({"I23", std::to_string(finished.in_full().size()) +
                                    " finished jobs in full and " +
                                    std::to_string(finished.by_key().size()) +
                                    " summaries are more than may be kept"});
    }
    for (const auto& [key, job] : finished.by_key()) {
        if (job.ended_at + policy.finished_jobs_kept_for <= state.now()) {
            found.push_back({"I23", "finished job " + to_string(key) + " is too old to be kept"});
        }
    }
}

}  // namespace

void verify_finished(const ClusterState& state, std::vector<Violation>& found) {
    verify_ends(state, found);
    if (state.session.synced()) verify_limits(state, found);
    for (const auto& [key, job] : state.jobs.finished_jobs().by_key()) {
        const std::string name = "finished job " + to_string(key);
        if (state.jobs.find_job(key).exists()) {
            found.push_back({"I23", name + " is a job and a summary"});
        }
        for (const EndedPod& pod : job.ended_pods) {
            const std::string uid = text_of(pod.uid);
            const ObjectKey* const owner = state.jobs.finished_jobs().job_of(pod.uid);
            if ((!uid.empty() && state.pods.find_pod(uid).exists()) || owner == nullptr ||
                *owner != key) {
                found.push_back({"I23", name + ": its pod " + name_of(pod, key) + " is misfiled"});
            }
        }
    }
}

}  // namespace gpuctl
