#include "scheduler/plan/estimate/start_limits.hpp"

#include <algorithm>

#include "scheduler/queue/budget_forecast.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/tree/queue_chain.hpp"

namespace gpuctl {

bool StartLimits::counts(const ClusterState& state, const RunningPod& pod, const LimitHit& hit,
                         TenantId tenant) const {
    switch (limit_row(hit.kind).scope) {
        case LimitScope::queue:
        case LimitScope::queue_model:
            return is_below(state, pod.queue, hit.queue);
        case LimitScope::tenant:
            return pod.tenant == tenant;
        case LimitScope::pool:
        case LimitScope::pool_model:
            return !pod.grows_with_demand;
    }
    return false;
}

Instant StartLimits::within(const ClusterState& state, PoolId pool, const JobRow& job,
                            const LimitHit& hit, Pace pace, Instant now) {
    // The job was refused by a limit of a GPU model, which has no forecast, or by a limit that
    // blocks it no more.
    if (!hit.exists()) return {};
    if (is_budget(hit.kind)) return within_budget(state, pool, job, hit, pace, now);
    if (!limit_row(hit.kind).is_estimated) return {};
    if (limit_row(hit.kind).unit == LimitUnit::jobs) {
        return within_jobs(state, job.tenant, hit, pace, now);
    }
    const auto [known, is_new] = ends_.try_emplace({hit.kind, hit.queue, job.tenant, pace});
    Ends& ends = known->second;
    if (is_new) {
        for (const RunningPod& pod : running_) {
            const Instant end = pod.ends[at(pace)];
            if (!end.happened() || pod.gpus <= GpuMilli{}) continue;
            if (counts(state, pod, hit, job.tenant)) ends.emplace_back(end, pod.gpus.value());
        }
        std::sort(ends.begin(), ends.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        std::int64_t sum = 0;
        for (auto& [end, gpus] : ends) gpus = sum += gpus;
    }
    const std::int64_t excess = hit.held + hit.needed - hit.limit;
    const auto enough = std::partition_point(
        ends.begin(), ends.end(), [excess](const auto& one) { return one.second < excess; });
    return enough == ends.end() ? Instant{} : std::max(enough->first, now);
}

// The time when enough jobs of the queue or namespace have ended. A job ends with its last pod.
Instant StartLimits::within_jobs(const ClusterState& state, TenantId tenant, const LimitHit& hit,
                                 Pace pace, Instant now) {
    const TenantId limited_tenant = hit.queue.exists() ? TenantId::none() : tenant;
    const auto [of, is_new] = job_ends_.try_emplace({hit.kind, hit.queue, limited_tenant, pace});
    std::vector<Instant>& known = of->second;
    if (is_new) {
        std::map<JobId, Instant> ends;  // by job; never: unknown
        for (const RunningPod& pod : running_) {
            if (!counts(state, pod, hit, tenant)) continue;
            const Instant end = pod.ends[at(pace)];
            const auto [found, is_first] = ends.try_emplace(pod.job, end);
            const bool is_known = end.happened() && found->second.happened();
            if (!is_first) found->second = is_known ? std::max(found->second, end) : Instant{};
        }
        for (const auto& [job, end] : ends) {
            if (end.happened()) known.push_back(end);
        }
        std::sort(known.begin(), known.end());
    }
    const auto excess = static_cast<std::size_t>(hit.held + hit.needed - hit.limit);
    if (excess == 0 || excess > known.size()) return {};
    return std::max(known[excess - 1], now);
}

// GPU time that is committed to pods which end before their limit is returned to the budget. The
// rest depends on time alone. `hit` may count jobs that are served first as if they held their need
// already.
Instant StartLimits::within_budget(const ClusterState& state, PoolId pool, const JobRow& job,
                                   const LimitHit& hit, Pace pace, Instant now) {
    const Budget& budget = state.accounts.budgets().of(job, hit);
    const Spending& spending = budget.spending;
    const bool is_queue = hit.queue.exists();
    const TenantId tenant = is_queue ? TenantId::none() : job.tenant;
    const auto [known, is_new] = draws_.try_emplace({hit.kind, hit.queue, tenant, pace});
    for (const RunningPod& pod : running_) {
        if (!is_new) break;
        const bool is_of_tenant = pod.tenant == job.tenant && pod.is_of_pool && job.pool == pool;
        if (is_queue ? !is_below(state, pod.queue, hit.queue) : !is_of_tenant) continue;
        known->second.push_back(
            {pod.gpus, pod.budget_end, pod.is_nominated ? Instant{} : pod.ends[at(pace)]});
    }
    Duration time = spending.period().end - now;
    if (job.run.time_max > Duration{}) time = std::min(time, job.run.time_max);
    const GpuMilli gpus{hit.needed / std::max<std::int64_t>(time.ms(), 1)};
    const GpuTime ahead = GpuTime{hit.held} - spending.used(now) - spending.committed(now);
    return begins_by_budget(budget.policy, spending, known->second,
                            {gpus, job.run.time_max, ahead, now, now});
}

}  // namespace gpuctl
