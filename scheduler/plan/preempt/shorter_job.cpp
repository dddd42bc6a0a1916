#include "scheduler/plan/preempt/shorter_job.hpp"

#include <algorithm>

#include "scheduler/base/log2.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/base/wide.hpp"
#include "scheduler/plan/reclaim/reclaim.hpp"

namespace gpuctl {
namespace {

constexpr std::int64_t kWeightOfEqual = std::int64_t{1} << 32;

// 2^32 / 2^by, where `by` is a logarithm; interpolated linearly between powers of two.
std::int64_t shrunk(std::int64_t by) {
    const std::int64_t whole = std::clamp<std::int64_t>(by / kLog2One, 0, 30);
    const std::int64_t part = std::max<std::int64_t>(by, 0) % kLog2One;
    const std::int64_t high = kWeightOfEqual >> whole;
    return high - high / 2 * part / kLog2One;
}

// The work that a preemption would lose, as run time of the whole unit.
Duration time_lost(const EvictionUnit& unit) {
    const std::int64_t milli = std::max<std::int64_t>(unit.gpus.value(), 1);
    return Duration{times_ratio(unit.cost_gpu_ms, kGpuMilliPerGpu, milli)};
}

// When a preemption will cost less than now; never: the unit has no checkpoints, or one was just
// taken.
Instant next_checkpoint(const ClusterState& state, const EvictionUnit& unit) {
    const PodFacts& pod = state.pod(unit.pods.front()).facts;
    const std::int64_t interval = pod.checkpoint_interval.ms();
    if (interval <= 0 || !pod.started_at.happened() || state.now() <= pod.started_at) return {};
    const std::int64_t since = (state.now() - pod.started_at).ms() % interval;
    return since == 0 ? Instant{} : state.now() + Duration{interval - since};
}

// The time from which the job counts as the shortest: a job that has waited this long in total
// precedes all jobs that have not, and is not preempted for them.
Instant shortest_from(const ClusterState& state, const JobRow& job) {
    return job.submitted_at + state.run_times.progress_of(job) +
           state.pool(job.pool).backfill.patience;
}
// True if the running job is not preempted by run time, whatever waits: it has waited for the
// patience.
bool has_precedence(const ClusterState& state, const JobRow& job) {
    return shortest_from(state, job) <= state.now();
}
constexpr std::int64_t kSizeOfAged = INT64_MIN / 4;

// The weight by which units are preempted, from sizes or due times: the smallest weight first.
std::int64_t weight_of(std::int64_t size, std::int64_t own, bool is_due, Duration own_time) {
    if (!is_due) return shrunk(size - own);
    const std::int64_t scale = std::max<std::int64_t>(own_time.ms(), 1'000);
    const std::int64_t later = std::max<std::int64_t>(size - std::max(own, std::int64_t{0}), 0);
    return kWeightOfEqual / (1 + later / scale);
}

}  // namespace

void StoppableWork::read(const ClusterState& state, PoolId pool, RemainingWork& remaining_work) {
    const PoolRow& row = state.pool(pool);
    if (is_known_ && pool_ == pool && changes_ == row.changes && terminations_ == row.terminations)
        return;
    is_known_ = true;
    pool_ = pool;
    changes_ = row.changes;
    terminations_ = row.terminations;
    find_candidates(
        state, pool,
        [&state](const JobRow& job) {
            return state.run_times.preemption_of(job) != PreemptionMode::priority;
        },
        found_);
    units_.clear();
    turns_in_.reset();
    for (EvictionUnit& unit : found_.units) {
        const JobRow& job = state.job(unit.job);
        if (has_precedence(state, job)) continue;
        const Duration spare = RemainingWork::goes_on_for(state, job);
        if (spare > Duration{} && !has_fault(SeededFault::preempt_makespan_critical_jobs)) {
            turns_in_ = std::min(turns_in_.value_or(spare), spare);
            continue;
        }
        const Duration cost = time_lost(unit);
        const Instant cheaper_at = next_checkpoint(state, unit);
        units_.push_back({std::move(unit), remaining_work.of_running(state, job, cost),
                          remaining_work.remaining_time(state, job) - cost,
                          state.run_times.stated_left(job) <= Duration{}, cheaper_at,
                          remaining_work.of_running(state, job, Duration{})});
    }
    found_.units.clear();
    std::stable_sort(units_.begin(), units_.end(),
                     [](const Unit& a, const Unit& b) { return a.size > b.size; });
}

ShorterJob::ShorterJob(const ClusterState& state, const JobRow& job, RemainingWork& left)
    : state_(state), job_(job), left_(left) {
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    own_time_ = left_.remaining_time(state, job);
    own_ = left_.of_waiting(state, job);
    is_due_ = policy.mode == PreemptionMode::due;
    const std::int64_t gain = std::max(policy.gain_percent, 100);
    enough_ = own_ + 1;
    if (!is_due_) enough_ += log2_fixed(static_cast<std::uint64_t>(gain)) - log2_fixed(100);
    if (has_fault(SeededFault::stop_equals_for_short)) enough_ = own_ - 2 * kLog2One;
    const auto begin_by = RemainingWork::begin_by(state, job);
    is_late_ =
        begin_by && *begin_by <= state.now() && !has_fault(SeededFault::long_jobs_begin_last);
    if (is_late_) enough_ = kSizeOfAged;
    first_from_ = shortest_from(state, job);
    if (first_from_ <= state.now()) own_ = enough_ = kSizeOfAged;
    if (begin_by && !is_late_) {
        first_from_ = std::min(first_from_, std::max(*begin_by, state.now() + Duration{1'000}));
    }
}

bool ShorterJob::may_try(const ClusterState& state, const JobRow& job, PodId pod) {
    return state.pod(pod).facts.preempts &&
           state.run_times.preemption_of(job) != PreemptionMode::priority;
}

bool ShorterJob::may_stop(const JobRow& other) const {
    if (other.key == job_.key || other.priority > job_.priority) return false;
    if (other.queue != job_.queue) {
        const reclaim::Sides meet = reclaim::sides(state_, job_.queue, other.queue);
        if (!meet.other.exists() ||
            state_.queue(meet.other).priority > state_.queue(meet.own).priority) {
            return false;
        }
    }
    return true;
}

// With estimated run times the difference must be twice as large: two estimates cross often.
std::int64_t ShorterJob::enough_for(bool may_grow) const {
    const bool is_guessed = job_.run.time_expected <= Duration{};
    return enough_ + (!is_due_ && (is_guessed || may_grow) ? kLog2One : 0);
}

bool ShorterJob::precedes(const EvictionUnit& unit) const {
    const JobRow& other = state_.job(unit.job);
    if (state_.run_times.preemption_of(other) == PreemptionMode::priority) return false;
    if (!may_stop(other) || has_precedence(state_, other)) return false;
    const bool may_grow = state_.run_times.stated_left(other) <= Duration{};
    return left_.of_running(state_, other, time_lost(unit)) >= enough_for(may_grow);
}

void ShorterJob::choose(const StoppableWork& work, Candidates& out) const {
    out.units.clear();
    out.terminating_pods = work.all().terminating_pods;
    out.look_again_at = work.all().look_again_at;
    if (first_from_ > state_.now()) out.note_look_again(first_from_);
    // To try again more often than at an eighth of the job's own run time would gain nothing.
    const Duration soonest{std::max<std::int64_t>(own_time_.ms() / 8, 1'000)};
    if (const auto turn = work.turns_in()) {
        out.note_look_again(state_.now() + std::max(*turn, soonest));
    }
    for (const StoppableWork::Unit& known : work.units()) {
        const std::int64_t enough = enough_for(known.may_grow);
        if (known.size < enough) {
            if (known.cheaper_at.happened() && known.size_then >= enough) {
                out.note_look_again(known.cheaper_at);
            }
            if (!known.may_grow) continue;
            // The victim's remaining size must grow by this amount. Size and waiting time grow
            // alike.
            const std::int64_t missing = enough - known.size;
            const Duration more =
                is_due_ ? Duration{missing} : known.left * (missing / kLog2One + 1);
            out.note_look_again(state_.now() + std::max(more, soonest));
            continue;
        }
        if (!may_stop(state_.job(known.unit.job))) continue;
        out.units.push_back(known.unit);
        out.units.back().weight = weight_of(known.size, own_, is_due_, own_time_);
    }
}

Cause ShorterJob::why(const JobRow& other) {
    const auto left = [&](const JobRow& job) { return left_.remaining_time(state_, job); };
    const Duration remaining = left(job_);
    if (is_late_) return cause::MustStartNow{job_.key, remaining};
    if (is_due_) return cause::DueEarlier{job_.key};
    if (job_.run.nears_wait_target) {
        return cause::NearWaitTarget{job_.key, remaining,
                                     state_.pool(job_.pool).preemption.wait_target};
    }
    return cause::ShorterJob{job_.key, remaining, left(other)};
}

}  // namespace gpuctl
