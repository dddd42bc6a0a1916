// I17, where a pool sees to it that long jobs begin in time: what has to begin now goes first and
// is stopped for nobody. How long the pool is busy is recounted here from every job.

#include <algorithm>

#include "scheduler/policy/work_left.hpp"
#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

struct Part {
    std::int64_t gpus = 0;
    Duration until_end;  // from now on, as far as its user knows
    Instant soonest;     // that it could have ended
};

bool runs(const ClusterState& state, const JobRow& job) {
    const auto is_there = [&](PodId pod) {
        const PodStanding standing = state.pod(pod).standing;
        return standing == PodStanding::bound || standing == PodStanding::done;
    };
    return state.pod(job.pods.front()).standing == PodStanding::bound &&
           std::all_of(job.pods.begin(), job.pods.end(), is_there);
}

// To get to where it was.
Duration restart_left(const ClusterState& state, const JobRow& job) {
    const PodRow& first = state.pod(job.pods.front());
    if (!runs(state, job)) return first.facts.restart_cost;
    const Instant begin = std::max(first.placed_at, first.facts.started_at);
    return std::max(first.facts.restart_cost - (state.now() - begin), Duration{});
}

// Of one that says how fast it is by size, and waits with a part of it, the engine counts what was
// left when it last ran as a whole: how much that is cannot be told from what runs now (seed 1973).
bool is_told_roughly(const ClusterState& state, PoolId pool) {
    return std::any_of(
        state.jobs_by_key().begin(), state.jobs_by_key().end(), [&](const auto& entry) {
            const JobRow& job = state.job(entry.second);
            return job.pool == pool && !job.pods.empty() && is_paced(job) && !runs(state, job);
        });
}

std::vector<Part> parts_of(const ClusterState& state, PoolId pool) {
    std::vector<Part> parts;
    for (const auto& [key, id] : state.jobs_by_key()) {
        const JobRow& job = state.job(id);
        const bool counts = job.pool == pool && job.queue.exists() &&
                            job.priority < kSystemPriority && job.run_time_expected > Duration{};
        if (!counts) continue;
        Part part;
        for (const PodId pod : job.pods) {
            if (state.pod(pod).standing == PodStanding::done) continue;
            part.gpus += amounts_of(state.pod(pod).facts.request).gpus;
        }
        if (part.gpus == 0) continue;
        const Duration restart = state.pod(job.pods.front()).facts.restart_cost;
        const Duration left = job.run_time_expected - state.progress_of(job);
        part.until_end = std::max(left, Duration{}) + restart_left(state, job);
        part.soonest = job.submitted_at + job.run_time_expected + restart;
        // Later than it should be: nobody knows when it ends.
        if (part.until_end <= Duration{} && runs(state, job)) continue;
        parts.push_back(part);
    }
    return parts;
}

}  // namespace

Judge::Lateness Judge::lateness(const ClusterState& state, const JobRow& job,
                                Duration unseen) const {
    const std::string& pool = state.pool(job.pool).name;
    const PreemptionPolicy policy = books_.preemption_of(pool);
    if (policy.makespan_percent == 0 || !policy.stops_by_run_time()) return {};
    if (is_told_roughly(state, job.pool)) return {true, false, true};
    std::int64_t busy = 0;  // GPU thousandths x ms
    std::int64_t span = 0;
    for (const Part& part : parts_of(state, job.pool)) {
        busy += part.gpus * part.until_end.ms();
        span = std::max(span, (part.soonest - state.now()).ms());
    }
    const std::int64_t gpus = books_.offered(pool).gpus;
    if (gpus > 0) span = std::max(span, busy / gpus);
    const std::int64_t from = span / 100 * policy.makespan_percent;
    const std::int64_t left = (job.run_time_expected - state.progress_of(job)).ms();
    constexpr std::int64_t kRounding = 4'000;  // the engine counts whole seconds
    const std::int64_t doubt = kRounding * policy.makespan_percent / 100 + kRounding;
    const std::int64_t restart = state.pod(job.pods.front()).facts.restart_cost.ms();
    if (job.run_time_expected <= Duration{}) return {};
    const std::int64_t goes_on_from = from / 64 * 63 - 2 * doubt;
    return {left >= from - doubt, left >= from + doubt,
            left + 4 * restart + unseen.ms() >= goes_on_from};
}

void Judge::check_who_goes_on(const EvictPod& eviction, const ClusterState& after) {
    const JobRow& victim = after.job(after.find_job(eviction.job));
    const JobRow& by = after.job(after.find_job(eviction.beneficiary));
    if (lateness(after, by).may_be_late) ++probes.stopped_for_late;
    if (lateness(after, victim).is_late) {
        fail("I17", "eviction of " + to_string(eviction.pod.key) +
                        ": it has to go on, or it will run on alone when all else is done");
    }
}

// Of one queue and priority.
void Judge::compare_late(const Turn& first, const Turn& later, const ClusterState& after) {
    const JobId a = after.find_job(first.job);
    const JobId b = after.find_job(later.job);
    if (!a.exists() || !b.exists()) return;
    const auto has_waited = [&](const JobRow& job) {
        return after.now() - job.submitted_at >=
               books_.backfill_of(after.pool(job.pool).name).patience;
    };
    if (has_waited(after.job(a)) || lateness(after, after.job(a)).may_be_late) return;
    if (!lateness(after, after.job(b)).is_late) return;
    fail("I8", "job " + to_string(first.job) + " was placed before job " + to_string(later.job) +
                   ", which has to begin now");
}

// Where long jobs are to begin in time, in one queue.
void Judge::check_late(const std::vector<Turn>& turns, const ClusterState& after) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
        const Turn& first = turns[i];
        const QueueName queue = books_.queue_of(first.pod);
        if (!stops_long_for_short(queue) || pools_claimed_in_.contains(queue.pool)) continue;
        for (std::size_t j = i + 1; j < turns.size(); ++j) {
            const Turn& later = turns[j];
            const bool alike = books_.queue_of(later.pod) == queue && later.job != first.job &&
                               books_.aged(first.pod.priority, first.submitted_at) ==
                                   books_.aged(later.pod.priority, later.submitted_at);
            const auto is_new = [](const Turn& turn) {
                return !turn.resumes && !turn.grows && !turn.may_grow;
            };
            if (alike && is_new(first) && is_new(later)) {
                compare_late(first, later, after);
            }
        }
    }
}

}  // namespace gpuctl::sim
