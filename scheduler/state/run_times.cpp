// How long jobs may run, ran, and until when pods hold what they hold.

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image.hpp"

namespace gpuctl {

RunTimeQuestion ClusterState::question_about(const JobRow& job) const {
    RunTimeQuestion about{job.tenant, {}, job.run_time_max, job.run_time_expected};
    for (const PodId pod : job.pods) about.gpus += shapes_.at(pods_[pod.value()].shape).gpus;
    return about;
}

// The limit counts from the start of the pod (Kubernetes' activeDeadlineSeconds); until it is
// known, from its placement. Room that is only claimed has no end: nobody runs there yet. One that
// is being deleted is gone when its grace is over: so the first in line can be promised its room,
// and nobody behind has others stopped to take it.
void ClusterState::note_end(PodId id) {
    PodRow& row = pods_[id.value()];
    if (counts_work_ && row.job.exists()) work_stale_.push_back(row.job);
    if (row.job.exists()) note_pace(row.job);
    Instant end;
    if (row.node.exists() && row.job.exists() && row.standing != PodStanding::claimed) {
        const Duration limit = jobs_[row.job.value()].run_time_max;
        Instant begin = std::max(row.placed_at, row.facts.started_at);
        if (!begin.happened()) begin = row.seen_at;  // bound before we came, and not running yet
        if (limit > Duration{}) end = begin + limit;
        const bool leaves_sooner =
            row.leaves_at.happened() && (!end.happened() || row.leaves_at < end);
        if (leaves_sooner && !planted(PlantedBug::forget_who_leaves)) end = row.leaves_at;
    }
    if (end == row.ends_at) return;
    if (row.node.exists()) note_change(nodes_[row.node.value()].pool);
    // One that began late may not be over by a window any more.
    if (row.node.exists() && nodes_[row.node.value()].windows != 0) {
        calendar_.clock.drain_due = true;
    }
    if (!budgets_.empty()) note_other_end(row, end);
    if (row.ends_at.happened()) ends_.erase({row.ends_at, id});
    row.ends_at = end;
    if (end.happened()) ends_.emplace(end, id);
}

// Of one of which a part waits nothing is said: what counts for a waiting job must not move with
// time, or its class would not.
Instant ClusterState::began(const JobRow& job) const {
    const auto runs = [this](PodId id) {
        const PodStanding standing = pods_[id.value()].standing;
        return standing == PodStanding::bound || standing == PodStanding::done;
    };
    if (job.pods.empty() || !std::all_of(job.pods.begin(), job.pods.end(), runs)) return {};
    const PodRow& first = pods_[job.pods.front().value()];
    if (first.standing != PodStanding::bound) return {};
    return std::max(first.placed_at, first.facts.started_at);
}

RunSoFar ClusterState::run_so_far(const JobRow& job) const {
    const Instant begin = began(job);
    if (!begin.happened()) return {};
    const RunTimeQuestion about = question_about(job);
    RunSoFar out{begin, {}, about.gpus, about.limit};
    const PodFacts& first = pods_[job.pods.front().value()].facts;
    if (first.checkpoint_interval > Duration{}) {  // getting back to where it was is no progress
        const std::int64_t ms = std::max(now_ - begin - first.restart_cost, Duration{}).ms();
        out.kept = Duration{ms - ms % first.checkpoint_interval.ms()};
    }
    return out;
}

// Of a job whose run began then, or that waits when that is never.
Duration ClusterState::done_before(const JobRow& job, Instant begin) const {
    const auto found = churn_.find(job.key);
    if (found == churn_.end()) return {};
    const Churn& churn = found->second;
    return begin.happened() && churn.run_began == begin ? churn.done_before : churn.done;
}

Duration ClusterState::progress_of(const JobRow& job) const {
    if (is_paced(job)) return work_done(job);
    const Instant begin = began(job);
    const Duration before = done_before(job, begin);
    if (!begin.happened()) return before;
    const PodFacts& first = pods_[job.pods.front().value()].facts;
    return before + std::max(now() - begin - first.restart_cost, Duration{});
}

// Of what nobody said how long it takes nothing is counted.
PoolId ClusterState::note_work(JobId id) {
    const JobRow& job = jobs_[id.value()];
    PoolWork::Part part;
    for (const PodId pod : job.pods) {
        if (pods_[pod.value()].standing == PodStanding::done) continue;
        part.gpus += shapes_.at(pods_[pod.value()].shape).gpus;
    }
    const bool counts = job.live && job.queue.exists() && part.gpus > GpuMilli{} &&
                        job.run_time_expected > Duration{} && job.priority < kSystemPriority &&
                        pools_[job.pool.value()].preemption.makespan_percent > 0;
    if (!counts) return work_.forget(id);
    const Duration restart = pods_[job.pods.front().value()].facts.restart_cost;
    const Instant begin = began(job);
    const Duration left = std::max(job.run_time_expected - done_before(job, begin), Duration{});
    part.pool = job.pool;
    part.soonest = job.submitted_at + job.run_time_expected + restart;
    if (begin.happened()) {
        part.ends = begin + restart + left;
    } else {
        part.left = restart + left;
    }
    return work_.note(id, part);
}

// Who may be stopped for whom depends on it.
void ClusterState::count_work() {
    if (!counts_work_) return;
    for (const JobId id : work_stale_) {
        const PoolId pool = note_work(id);
        if (!pool.exists()) continue;
        ++pools_[pool.value()].victims;
        idle_ = false;
    }
    work_stale_.clear();
    work_.advance(now_);
}

void ClusterState::recount_work() {
    work_.clear();
    work_stale_.clear();
    counts_work_ = std::any_of(pools_.begin(), pools_.end(), [](const PoolRow& pool) {
        return pool.preemption.makespan_percent > 0;
    });
    if (!counts_work_) return;
    for (const auto& [key, id] : job_ids_) work_stale_.push_back(id);
}

std::optional<Duration> ClusterState::late_from(PoolId pool) const {
    const PoolRow& row = pools_[pool.value()];
    const std::int64_t percent = row.preemption.makespan_percent;
    if (percent == 0 || !row.preemption.stops_by_run_time()) return std::nullopt;
    const Duration rest = work_.rest(pool, now(), row.offered.gpus);
    return Duration{rest.ms() / 100 * percent};
}

namespace {

// It ended because it was evicted: one that was only asked for, or refused, stopped nothing.
bool was_stopped(const PodRow& pod) {
    return pod.eviction == Eviction::accepted ||
           (pod.eviction == Eviction::asked && pod.facts.terminating);
}

}  // namespace

// One run for each job: the one of its first rank, with what it had done before it.
void ClusterState::note_run(PodId id) {
    const PodRow& row = pods_[id.value()];
    if (!row.job.exists()) return;
    const JobRow& job = jobs_[row.job.value()];
    if (job.pods.front() != id) return;
    const Instant begin = row.facts.started_at.happened() ? row.facts.started_at : row.placed_at;
    const Instant end = row.facts.finished_at.happened() ? row.facts.finished_at : now_;
    if (!begin.happened() || end <= begin) return;
    const RunTimeQuestion about = question_about(job);
    Duration before;
    if (const auto moved = churn_.find(job.key); moved != churn_.end()) {
        if (was_stopped(row)) return;  // that was not all of it
        Churn& churn = moved->second;
        before = churn.run_began == began(job) ? churn.done_before : churn.done;
        if (row.facts.phase == PodPhase::succeeded) {  // else another run goes on from there
            churn.run_began = Instant{};
            churn.done_before = churn.done = Duration{};
        }
    }
    const Duration lasted = is_paced(job) ? work_done(job) : before + (end - begin);
    history_.note(job.tenant, {about.gpus, about.limit, lasted});
    if (!has_windows()) return;
    // What is thought to be over before a window may be less now.
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) note_gain(PoolId{pool});
}

void ClusterState::promise(PoolId pool, Promise promise) {
    PoolRow& row = pools_[pool.value()];
    if (row.promise == promise) return;
    row.promise = promise;
    ++row.promises;
    idle_ = false;
}

namespace {

// Those behind who were told before try again when something else happens.
bool may_tell_of_limits(PoolRow& row, Instant now) {
    constexpr std::int32_t kTimesMost = 32;  // a second
    if (now - row.limits_told_at >= Duration::seconds(1)) {
        row.limits_told_at = now;
        row.limits_told = 0;
    }
    return row.limits_told++ < kTimesMost;
}

}  // namespace

void ClusterState::keep_limits(PoolId pool, Promise of) {
    PoolRow& row = pools_[pool.value()];
    const auto known = std::find_if(row.limits_kept.begin(), row.limits_kept.end(),
                                    [&](const Promise& one) { return one.job == of.job; });
    if (known != row.limits_kept.end() && *known == of) return;
    if (known != row.limits_kept.end()) {
        *known = of;
    } else {
        row.limits_kept.push_back(of);
    }
    if (!may_tell_of_limits(row, now_)) return;
    ++row.promises;
    idle_ = false;
}

bool ClusterState::keep_limits_as(PoolId pool, std::vector<Promise> kept) {
    PoolRow& row = pools_[pool.value()];
    // In whatever order they were found.
    if (std::is_permutation(row.limits_kept.begin(), row.limits_kept.end(), kept.begin(),
                            kept.end())) {
        return false;
    }
    row.limits_kept = std::move(kept);
    if (!may_tell_of_limits(row, now_)) return false;
    ++row.promises;
    idle_ = false;
    return true;
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
    for (const PromiseImage& kept : image.limits_kept) {
        const JobId job = find_job(kept.job);
        if (job.exists())
            pools_[pool_named(kept.pool).value()].limits_kept.push_back({job, kept.at});
    }
    return true;
}

bool ClusterState::stops_long_for_short(const QueueRow& queue) const {
    return queue.order == QueueOrder::shortest &&
           pools_[queue.pool.value()].preemption.stops_by_run_time();
}

bool ClusterState::heeds_run_times(const QueueRow& queue) const {
    const BackfillPolicy& backfill = pools_[queue.pool.value()].backfill;
    return backfill.head == HeadOfLine::reserve || backfill.short_percent > 0 ||
           queue.order == QueueOrder::shortest;
}

}  // namespace gpuctl
