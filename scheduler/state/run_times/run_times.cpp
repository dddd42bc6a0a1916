// Run times: limits, past runs, and when pods will release what they hold.

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"
#include "scheduler/state/run_times/lateness.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {

RunTimeQuestion RunTimes::question_about(const JobRow& job) const {
    RunTimeQuestion about{job.tenant, {}, job.run.time_max, job.run.time_expected};
    for (const PodId pod : job.pods)
        about.gpus += state_.pods.shapes().at(state_.pods.rows()[pod.value()].shape).gpus;
    return about;
}

// The limit counts from the start of the pod (Kubernetes' activeDeadlineSeconds), or from its
// placement until the start is known. Nominated room has no end, because no pod runs there yet. A
// pod that is being deleted ends with its grace period: so its room can be reserved for the head of
// line, and no later job has other pods evicted to take it.
void RunTimes::note_end(PodId id) {
    const PodRow& row = state_.pods.rows()[id.value()];
    if (counts_work_ && row.job.exists()) work_stale_.push_back(row.job);
    if (row.job.exists()) note_pace(row.job);
    Instant end;
    const bool may_run =
        row.bind.state != BindState::nominated && row.bind.state != BindState::seat;
    if (row.node.exists() && row.job.exists() && may_run) {
        const Duration limit = state_.jobs.rows()[row.job.value()].run.time_max;
        Instant begin = std::max(row.bind.placed_at, row.facts.started_at);
        // it was bound before this process began, and does not run yet
        if (!begin.happened()) begin = row.seen_at;
        if (limit > Duration{}) end = begin + limit;
        const bool ends_sooner =
            row.leaves_at.happened() && (!end.happened() || row.leaves_at < end);
        if (ends_sooner && !has_fault(SeededFault::forget_termination_times)) end = row.leaves_at;
    }
    if (end == row.ends_at) return;
    if (row.node.exists()) state_.tree.note_change(state_.nodes.rows()[row.node.value()].pool);
    // A pod that began late may no longer end before a maintenance window.
    if (row.node.exists() && state_.nodes.rows()[row.node.value()].windows != 0) {
        state_.maintenance.request_drain();
    }
    if (!state_.accounts.budgets().empty()) state_.accounts.note_other_end(row, end);
    if (row.ends_at.happened()) ends_.erase({row.ends_at, id});
    state_.pods.rows().ends_at(id, {}) = end;
    if (end.happened()) ends_.emplace(end, id);
}

// Unknown (never) while a part of the job waits: what identifies a waiting job's class must not
// change with time.
Instant RunTimes::began(const JobRow& job) const {
    const auto runs = [this](PodId id) {
        const BindState bind_state = state_.pods.rows()[id.value()].bind.state;
        return bind_state == BindState::bound || bind_state == BindState::done;
    };
    if (job.pods.empty() || !std::all_of(job.pods.begin(), job.pods.end(), runs)) return {};
    const PodRow& first = state_.pods.rows()[job.pods.front().value()];
    if (first.bind.state != BindState::bound) return {};
    return std::max(first.bind.placed_at, first.facts.started_at);
}

RunSoFar RunTimes::run_so_far(const JobRow& job) const {
    const Instant begin = began(job);
    if (!begin.happened()) return {};
    const RunTimeQuestion about = question_about(job);
    RunSoFar out{begin, {}, about.gpus, about.limit};
    const PodFacts& first = state_.pods.rows()[job.pods.front().value()].facts;
    // reaching the previous progress again is no progress
    if (first.checkpoint_interval > Duration{}) {
        const std::int64_t ms =
            std::max(state_.session.event_time() - begin - first.restart_cost, Duration{}).ms();
        out.kept = Duration{ms - ms % first.checkpoint_interval.ms()};
    }
    return out;
}

// Of a job whose run began at `begin`; never: of a waiting job.
Duration RunTimes::done_before(const JobRow& job, Instant begin) const {
    const auto found = state_.evictions.churn().find(job.key);
    if (found == state_.evictions.churn().end()) return {};
    const Churn& churn = found->second;
    return begin.happened() && churn.run_began == begin ? churn.done_before : churn.done;
}

Duration RunTimes::progress_of(const JobRow& job) const {
    if (is_paced(job)) return work_done(job);
    const Instant begin = began(job);
    const Duration before = done_before(job, begin);
    if (!begin.happened()) return before;
    const PodFacts& first = state_.pods.rows()[job.pods.front().value()].facts;
    return before + std::max(state_.session.now() - begin - first.restart_cost, Duration{});
}

// Jobs without a stated run time do not count.
PoolId RunTimes::note_work(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    PoolWork::Part part;
    for (const PodId pod : job.pods) {
        if (state_.pods.rows()[pod.value()].bind.state == BindState::done) continue;
        part.gpus += state_.pods.shapes().at(state_.pods.rows()[pod.value()].shape).gpus;
    }
    const bool counts = job.live && job.queue.exists() && part.gpus > GpuMilli{} &&
                        job.run.time_expected > Duration{} && job.priority < kSystemPriority &&
                        state_.tree.pool_rows()[job.pool.value()].preemption.makespan_percent > 0;
    if (!counts) return work_.forget(id);
    const Duration restart = state_.pods.rows()[job.pods.front().value()].facts.restart_cost;
    const Instant begin = began(job);
    const Duration left = std::max(job.run.time_expected - done_before(job, begin), Duration{});
    part.pool = job.pool;
    part.soonest = job.submitted_at + job.run.time_expected + restart;
    if (begin.happened()) {
        part.ends = begin + restart + left;
    } else {
        part.left = restart + left;
    }
    return work_.set_part(id, part);
}

// Victims depend on the remaining work of the pool.
void RunTimes::count_work() {
    if (!counts_work_) return;
    for (const JobId id : work_stale_) {
        const PoolId pool = note_work(id);
        if (!pool.exists()) continue;
        state_.tree.note_victims(pool);
        state_.session.note_news();
    }
    work_stale_.clear();
    work_.advance(state_.session.event_time());
}

void RunTimes::recount_work() {
    work_.clear();
    work_stale_.clear();
    counts_work_ =
        std::any_of(state_.tree.pool_rows().begin(), state_.tree.pool_rows().end(),
                    [](const PoolRow& pool) { return pool.preemption.makespan_percent > 0; });
    if (!counts_work_) return;
    for (const auto& [key, id] : state_.jobs.job_ids()) work_stale_.push_back(id);
}

std::optional<Duration> RunTimes::late_from(PoolId pool) const {
    const PoolRow& row = state_.tree.pool_rows()[pool.value()];
    const std::int64_t percent = row.preemption.makespan_percent;
    if (percent == 0 || !row.preemption.stops_by_run_time()) return std::nullopt;
    const Duration rest = work_.rest(pool, state_.session.now(), row.offered.gpus);
    return Duration{rest.ms() / 100 * percent};
}

namespace {

// True if the pod ended because it was evicted. A request that is open or refused does not count.
bool was_stopped(const PodRow& pod) {
    return pod.eviction.state == EvictionState::accepted ||
           (pod.eviction.state == EvictionState::asked && pod.facts.terminating);
}

}  // namespace

// Records one run for each job: that of its first rank, with the work done before.
void RunTimes::note_run(PodId id) {
    const PodRow& row = state_.pods.rows()[id.value()];
    if (!row.job.exists()) return;
    const JobRow& job = state_.jobs.rows()[row.job.value()];
    if (job.pods.front() != id) return;
    const Instant begin =
        row.facts.started_at.happened() ? row.facts.started_at : row.bind.placed_at;
    const Instant end =
        row.facts.finished_at.happened() ? row.facts.finished_at : state_.session.event_time();
    if (!begin.happened() || end <= begin) return;
    const RunTimeQuestion about = question_about(job);
    Duration before;
    if (const auto moved = state_.evictions.churn().find(job.key);
        moved != state_.evictions.churn().end()) {
        if (was_stopped(row)) return;  // that was not the whole run
        const Churn& churn = moved->second;
        before = churn.run_began == began(job) ? churn.done_before : churn.done;
        // Otherwise the next run continues from there.
        if (row.facts.phase == PodPhase::succeeded) state_.evictions.note_success(job.key);
    }
    const Duration lasted = is_paced(job) ? work_done(job) : before + (end - begin);
    history_.add_run(job.tenant, {about.gpus, about.limit, lasted});
    if (!state_.maintenance.has_windows()) return;
    // Predictions may be shorter now, so that jobs may fit before a window.
    for (std::uint32_t pool = 0; pool < state_.tree.pool_rows().size(); ++pool)
        state_.tree.note_gain(PoolId{pool});
}

Result<bool> RunTimes::restore_run_times(const StateImage& image, Key<StateReader>) {
    for (const OwnerRuns& owner : image.run_times) {
        const bool is_one = std::all_of(owner.runs.begin(), owner.runs.end(),
                                        [](const FinishedRun& run) { return run.lasted.ms() > 0; });
        if (!is_one || owner.runs.empty() || owner.runs.size() > RunTimeHistory::kRunsPerOwner) {
            return make_error(ErrorCode::JournalDamaged,
                              "state image: the run times of " + owner.owner + " are none");
        }
        history_.restore(state_.tree.tenant_named(owner.owner), {owner.noted, owner.runs});
    }
    return true;
}

bool RunTimes::stops_long_for_short(const QueueRow& queue) const {
    return queue.order == QueueOrder::shortest &&
           state_.tree.pool_rows()[queue.pool.value()].preemption.stops_by_run_time();
}

PreemptionMode RunTimes::preemption_of(const JobRow& job) const {
    const bool goes_by_run_time = job.pool.exists() && job.queue.exists() &&
                                  job.priority < kSystemPriority &&
                                  stops_long_for_short(state_.tree.queue_rows()[job.queue.value()]);
    return goes_by_run_time ? state_.tree.pool_rows()[job.pool.value()].preemption.mode
                            : PreemptionMode::priority;
}

bool RunTimes::heeds_run_times(const QueueRow& queue) const {
    const BackfillPolicy& backfill = state_.tree.pool_rows()[queue.pool.value()].backfill;
    return backfill.head == HeadOfLine::reserve || backfill.short_percent > 0 ||
           queue.order == QueueOrder::shortest;
}

void RunTimes::note_long(JobId job, bool is_long) {
    state_.jobs.rows().run(job, {}).is_long = is_long;
}

void RunTimes::set_times(JobId id, Duration limit, Duration expected) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    RunRow& run = state_.jobs.rows().run(id, {});
    if (run.time_max != limit) {
        const bool has_nomination = state_.accounts.commit_nominations(job, -1);
        run.time_max = limit;
        (void)state_.accounts.commit_nominations(job, 1);
        if (has_nomination) state_.accounts.note_room_in_limits(job);
    }
    run.time_expected = expected;
}

void RunTimes::note_open_pods(JobId id, std::int64_t more) {
    state_.jobs.rows().run(id, {}).pods_open += more;
}

void RunTimes::note_last_phase(JobId id, PodPhase phase) {
    state_.jobs.rows().run(id, {}).last_phase = phase;
}

void RunTimes::note_wait(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    RunRow& run = state_.jobs.rows().run(id, {});
    run.nears_wait_target = nears_wait_target(state_, job);
    run.lateness = lateness_of(state_, job);
}

void RunTimes::restore_run(JobId id, const FinishedJob& past, Key<Retention>) {
    RunRow& run = state_.jobs.rows().run(id, {});
    run.started_at = past.started_at;
    run.finished_at = past.finished_at;
    if (!past.run) return;
    run.earlier_runs_until = past.run->earlier_runs_until;
    run.last_phase = past.run->last_phase;
}

}  // namespace gpuctl
