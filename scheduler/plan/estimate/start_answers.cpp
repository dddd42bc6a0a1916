// The line that a StartForecast simulates, job by job, and the final estimate of each job.

#include <algorithm>

#include "scheduler/plan/estimate/start_by_budgets.hpp"
#include "scheduler/plan/estimate/start_forecast.hpp"
#include "scheduler/plan/estimate/start_refusal.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {
namespace {

// The GPUs that the job needs to start: for a gang those of all missing ranks, for other jobs those
// of one pod.
GpuMilli gpus_needed(const ClusterState& state, JobId id) {
    const ClassId waits_in = state.job(id).waiting.in_class;
    if (!waits_in.exists()) return {};
    const Ask& ask = state.waiting.book().at(waits_in).key.ask;  // see ask_of(): mode, ranks, shape
    const bool all_or_nothing = (ask[0] & 1U) != 0;
    return state.shape_of(ShapeId{ask[2]}).gpus * (all_or_nothing ? ask[1] : 1);
}

}  // namespace

bool StartForecast::read_line(const ClusterState& state, std::int64_t& work) {
    for (; next_ < line_.size() && work > 0; ++next_, work -= 3) {
        if (waiting_.size() == kEstimatedMax) return true;
        // The job may have been deleted or started since the line was read.
        const JobRow& job = state.job(line_[next_]);
        if (job.arrival == arrivals_[next_] && job.waiting.in_class.exists())
            read_job(state, line_[next_]);
    }
    return next_ >= line_.size();
}

// Adds the job if this forecast can start it. Other jobs delay no job.
void StartForecast::read_job(const ClusterState& state, JobId id) {
    const Reason refusal = refusal_of(state, id);
    if (!is_about_room(refusal) && !is_limit(refusal)) return;
    const JobRow& job = state.job(id);
    Waiting waiting;
    waiting.id = id;
    waiting.arrival = job.arrival;
    waiting.refusal = refusal;
    for (const PodId pod : job.pods) {
        if (state.pod(pod).bind.state != BindState::waiting) continue;
        waiting.gpus += state.shape_of(pod).gpus.value();
    }
    if (has_windows_) waiting.stay = state.maintenance.stay_of(job, job.pods);
    const Outlook& outlook = outlook_of(state, id);
    waiting.median = run_time(outlook.prediction, outlook.about, Pace::median);
    waiting.limit = job.run.time_max;
    if (is_limit(refusal) || !state.accounts.budgets().empty()) {
        waiting.hit = state.accounts.limit_hit(job, Load{GpuMilli{waiting.gpus}, {}, {}});
    }
    add_budgets_ahead(state, job, waiting);
    waiting_.push_back(waiting);
}

// Counts the need of jobs before it in the line for the budget that blocks the job.
void StartForecast::add_budgets_ahead(const ClusterState& state, const JobRow& job,
                                      Waiting& waiting) {
    if (state.accounts.budgets().empty()) return;
    if (is_budget(waiting.hit.kind)) {
        waiting.ahead = ahead_[&state.accounts.budgets().of(job, waiting.hit)];
    }
    const auto draw = [&](const Budget* budget) {
        if (budget == nullptr) return;
        const GpuMilli gpus{waiting.gpus};
        ahead_[budget] += budget->spending.needed(gpus, job.run.time_max, now_).value();
    };
    for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
        draw(state.accounts.budgets().of(up));
    }
    draw(state.accounts.budgets().of(job.tenant, job.pool));
}

bool StartForecast::answer(const ClusterState& state, std::int64_t& work) {
    const std::int64_t each = state.accounts.budgets().empty() ? 5 : 500;
    for (; next_ < waiting_.size() && work > 0; ++next_, work -= each) {
        const JobRow& job = state.job(waiting_[next_].id);
        const bool is_there =
            job.arrival == waiting_[next_].arrival && job.waiting.in_class.exists();
        if (is_there) answer(state, waiting_[next_]);
    }
    return next_ >= waiting_.size();
}

void StartForecast::answer(const ClusterState& state, const Waiting& waiting) {
    StartEstimate estimate;
    estimate.earliest = waiting.at[at(Pace::early)];
    estimate.likely = waiting.at[at(Pace::median)];
    estimate.latest = waiting.at[at(Pace::late)];
    const Instant passes = waiting.passes;
    if (passes.happened() && passes + waiting.limit <= head_->at) {
        const bool is_sooner = !estimate.likely.happened() || passes < estimate.likely;
        if (is_sooner) estimate.likely = passes;
    }
    if (estimate == StartEstimate{}) return;
    if (head_ && waiting.id == head_->job) {
        estimate.latest = std::max(head_->at, std::max(estimate.latest, now_));
    }
    // The three times are estimated in different ways; they must be consistent when they are
    // reported together.
    if (estimate.likely.happened() && estimate.latest.happened()) {
        estimate.latest = std::max(estimate.latest, estimate.likely);
    }
    if (estimate.likely.happened() && estimate.earliest.happened()) {
        estimate.earliest = std::min(estimate.earliest, estimate.likely);
    }
    heed_budgets(state, waiting, estimate);
    estimate = believable(state, waiting, estimate);
    if (estimate == StartEstimate{}) return;
    const PoolRow& row = state.pool(pool_);
    const bool keeps = row.backfill.head == HeadOfLine::reserve &&
                       row.backfill.keep_after > Duration{} && !row.preemption.stops_by_run_time();
    estimate.may_be_passed =
        !row.is_reserved_for(waiting.id) && gpus_needed(state, waiting.id) > whole_gpus(1);
    if (estimate.may_be_passed && keeps) {
        estimate.reserved_from = state.job(waiting.id).submitted_at + row.backfill.keep_after;
    }
    answers_.push_back({waiting.id, waiting.arrival, estimate});
}

// The start is limited by room, and by budgets at that time: a budget may block the job in a later
// period although it does not in this one.
void StartForecast::heed_budgets(const ClusterState& state, const Waiting& waiting,
                                 StartEstimate& estimate) {
    const JobRow& job = state.job(waiting.id);
    const GpuMilli gpus{waiting.gpus};
    const auto later = [&](Instant& time) {
        if (time.happened()) time = begins_by_budgets(state, job, gpus, time);
    };
    later(estimate.likely);
    later(estimate.latest);
    if (!estimate.earliest.happened()) return;
    estimate.earliest = begins_by_budgets(state, job, gpus, estimate.earliest, Others::end_at_once);
    if (!estimate.earliest.happened()) estimate = {};
}

// A job that was tried and refused does not start now, even if the sum of free GPUs is sufficient.
StartEstimate StartForecast::believable(const ClusterState& state, const Waiting& waiting,
                                        StartEstimate estimate) {
    if (is_limit(waiting.refusal)) {
        const JobRow& job = state.job(waiting.id);
        LimitHit hit = waiting.hit;
        const Instant earliest = limits_.within(state, pool_, job, hit, Pace::early, now_);
        hit.held += waiting.ahead;
        // With the jobs before it, the job may need more than the next period adds.
        const bool is_long = is_budget(hit.kind) && waiting.ahead + hit.needed > hit.limit;
        const Instant likely =
            is_long ? Instant{} : limits_.within(state, pool_, job, hit, Pace::median, now_);
        if (!earliest.happened()) return {};
        estimate.earliest = std::max(estimate.earliest, earliest);
        estimate.likely = estimate.likely.happened() && likely.happened()
                              ? std::max({estimate.likely, likely, estimate.earliest})
                              : Instant{};
        estimate.latest = {};  // other jobs of the queue or namespace may be served before it
        return estimate;
    }
    if (waiting.refusal == Reason::none) return estimate;
    if (estimate.likely <= now_) estimate.likely = {};
    if (estimate.latest <= now_) estimate.latest = {};
    return estimate;
}

}  // namespace gpuctl
