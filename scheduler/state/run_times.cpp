// How long jobs may run, ran, and until when pods hold what they hold.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image.hpp"

namespace gpuctl {

RunTimeQuestion ClusterState::question_about(const JobRow& job) const {
    RunTimeQuestion about{job.tenant, {}, job.run_time_max, job.run_time_expected};
    for (const PodId pod : job.pods) about.gpus += shapes_.at(pods_[pod.value()].shape).gpus;
    return about;
}

// The limit counts from the start of the pod (Kubernetes' activeDeadlineSeconds); until it is
// known, from its placement. Room that is only claimed has no end: nobody runs there yet.
void ClusterState::note_end(PodId id) {
    PodRow& row = pods_[id.value()];
    Instant end;
    if (row.node.exists() && row.job.exists() && row.standing != PodStanding::claimed) {
        const Duration limit = jobs_[row.job.value()].run_time_max;
        Instant begin = std::max(row.placed_at, row.facts.started_at);
        if (!begin.happened()) begin = row.seen_at;  // bound before we came, and not running yet
        if (limit > Duration{}) end = begin + limit;
    }
    if (end == row.ends_at) return;
    if (row.node.exists()) note_change(nodes_[row.node.value()].pool);
    if (row.ends_at.happened()) ends_.erase({row.ends_at, id});
    row.ends_at = end;
    if (end.happened()) ends_.emplace(end, id);
}

// One run for each job: the one of its first rank.
void ClusterState::note_run(PodId id) {
    const PodRow& row = pods_[id.value()];
    if (!row.job.exists()) return;
    const JobRow& job = jobs_[row.job.value()];
    if (job.pods.front() != id) return;
    const Instant begin = row.facts.started_at.happened() ? row.facts.started_at : row.placed_at;
    const Instant end = row.facts.finished_at.happened() ? row.facts.finished_at : now_;
    if (!begin.happened() || end <= begin) return;
    const RunTimeQuestion about = question_about(job);
    history_.note(job.tenant, {about.gpus, about.limit, end - begin});
}

void ClusterState::promise(PoolId pool, Promise promise) {
    PoolRow& row = pools_[pool.value()];
    if (row.promise == promise) return;
    row.promise = promise;
    ++row.promises;
    idle_ = false;
}

Result<bool> ClusterState::restore_run_times(const StateImage& image) {
    for (const OwnerRuns& owner : image.run_times) {
        const bool is_one = std::all_of(owner.runs.begin(), owner.runs.end(),
                                        [](const FinishedRun& run) { return run.lasted.ms() > 0; });
        if (!is_one || owner.runs.empty() || owner.runs.size() > RunTimeHistory::kRunsPerOwner) {
            return make_error(ErrorCode::JournalDamaged,
                              "state image: the run times of " + owner.owner + " are none");
        }
        history_.restore(tenant_named(owner.owner), {owner.noted, owner.runs});
    }
    for (const PromiseImage& kept : image.promises) {
        const PoolId pool = pool_named(kept.pool);
        const JobId job = find_job(kept.job);
        if (job.exists()) pools_[pool.value()].promise = {job, kept.at};
    }
    return true;
}

}  // namespace gpuctl
