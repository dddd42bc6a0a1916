// I17 of pools that start long jobs in time: a job that must start now precedes other jobs and is
// not preempted. The time for which the pool is busy is recounted from every job.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

struct Part {
    std::int64_t gpus = 0;
    Duration until_end;  // from now on, by its expected run time
    Instant soonest;     // earliest possible end
};

bool runs(const ClusterState& state, const JobRow& job) {
    const auto is_bound_or_done = [&](PodId pod) {
        const BindState bind_state = state.pod(pod).bind.state;
        return bind_state == BindState::bound || bind_state == BindState::done;
    };
    return state.pod(job.pods.front()).bind.state == BindState::bound &&
           std::all_of(job.pods.begin(), job.pods.end(), is_bound_or_done);
}

// Time that the restart of the job still takes.
Duration restart_left(const ClusterState& state, const JobRow& job) {
    const PodRow& first = state.pod(job.pods.front());
    if (!runs(state, job)) return first.facts.restart_cost;
    const Instant begin = std::max(first.bind.placed_at, first.facts.started_at);
    return std::max(first.facts.restart_cost - (state.now() - begin), Duration{});
}

// For a job with a speedup curve that runs with a part of its ranks, the engine uses the remaining
// work of when it last ran completely, which does not follow from the current state (seed 1973).
bool has_uncertain_progress(const ClusterState& state, PoolId pool) {
    return std::any_of(
        state.jobs.jobs_by_key().begin(), state.jobs.jobs_by_key().end(), [&](const auto& entry) {
            const JobRow& job = state.job(entry.second);
            return job.pool == pool && !job.pods.empty() && is_paced(job) && !runs(state, job);
        });
}

std::vector<Part> parts_of(const ClusterState& state, PoolId pool) {
    std::vector<Part> parts;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool counts = job.pool == pool && job.queue.exists() &&
                            job.priority < kSystemPriority && job.run.time_expected > Duration{};
        if (!counts) continue;
        Part part;
        for (const PodId pod : job.pods) {
            if (state.pod(pod).bind.state == BindState::done) continue;
            part.gpus += amounts_of(state.pod(pod).facts.request).gpus;
        }
        if (part.gpus == 0) continue;
        const Duration restart = state.pod(job.pods.front()).facts.restart_cost;
        const Duration left = job.run.time_expected - state.run_times.progress_of(job);
        part.until_end = std::max(left, Duration{}) + restart_left(state, job);
        part.soonest = job.submitted_at + job.run.time_expected + restart;
        // The job is overdue, so its end is unknown.
        if (part.until_end <= Duration{} && runs(state, job)) continue;
        parts.push_back(part);
    }
    return parts;
}

}  // namespace

Checker::Lateness Checker::lateness(const ClusterState& state, const JobRow& job,
                                    Duration unseen) const {
    const PreemptionPolicy policy = preemption_of(state, job);
    if (policy.makespan_percent == 0 || !policy.stops_by_run_time()) return {};
    if (has_uncertain_progress(state, job.pool)) return {true, false, true};
    std::int64_t busy = 0;  // thousandths of a GPU times ms
    std::int64_t span = 0;
    for (const Part& part : parts_of(state, job.pool)) {
        busy += part.gpus * part.until_end.ms();
        span = std::max(span, (part.soonest - state.now()).ms());
    }
    const std::int64_t gpus = reference_.offered(state.pool(job.pool).name).gpus;
    if (gpus > 0) span = std::max(span, busy / gpus);
    const std::int64_t from = span / 100 * policy.makespan_percent;
    const std::int64_t left = (job.run.time_expected - state.run_times.progress_of(job)).ms();
    constexpr std::int64_t kRounding = 4'000;  // the engine uses whole seconds
    const std::int64_t doubt = kRounding * policy.makespan_percent / 100 + kRounding;
    const std::int64_t restart = state.pod(job.pods.front()).facts.restart_cost.ms();
    if (job.run.time_expected <= Duration{}) return {};
    const std::int64_t keeps_running_from = from / 64 * 63 - 2 * doubt;
    return {left >= from - doubt, left >= from + doubt,
            left + 4 * restart + unseen.ms() >= keeps_running_from};
}

void Checker::check_lateness_of_victim(const EvictPod& eviction, const ClusterState& after) {
    const JobRow& victim = after.job(after.jobs.find_job(eviction.job));
    const JobRow& by = after.job(after.jobs.find_job(eviction.preemptor));
    if (lateness(after, by).may_be_late) ++probes.preempted_for_late;
    if (lateness(after, victim).is_late) {
        fail("I17",
             "eviction of " + to_string(eviction.pod.key) +
                 ": it has to keep running, or it would run alone when all other jobs are done");
    }
}

// Two jobs of one queue that one Plan placed: of equal priority, the one that has to start now goes
// first.
void Checker::compare_late(const PlacedJob& first, const PlacedJob& later,
                           const ClusterState& after) {
    const bool is_alike = reference_.aged(first.pod.priority, first.submitted_at) ==
                          reference_.aged(later.pod.priority, later.submitted_at);
    const QueueName queue = reference_.queue_of(first.pod);
    if (later.resumes || !is_alike || !preempts_by_remaining_time(queue)) return;
    const JobId a = after.jobs.find_job(first.job);
    const JobId b = after.jobs.find_job(later.job);
    if (!a.exists() || !b.exists()) return;
    const bool is_aged = after.now() - after.job(a).submitted_at >=
                         reference_.backfill_of(after.pool(after.job(a).pool).name).patience;
    if (is_aged || lateness(after, after.job(a)).may_be_late) return;
    if (!lateness(after, after.job(b)).is_late) return;
    fail("I8", placed_before(first.job, later.job) + "which has to start now");
}

}  // namespace gpuctl::sim
