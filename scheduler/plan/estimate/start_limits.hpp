#pragma once
// When a job that a limit blocks may start: once enough usage under the limit has ended. It is
// called for many jobs and few limits, so the usage under each limit is sorted once.
//
// Lifetime: that of a StartForecast.

#include <map>
#include <tuple>
#include <vector>

#include "scheduler/plan/estimate/run_pace.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// A pod that holds room, as of the time when its node was read.
struct RunningPod {
    JobId job;
    QueueId queue;
    TenantId tenant;
    GpuMilli gpus;
    Instant ends[3];     // by Pace; never: unknown
    Instant budget_end;  // until then the pod counts against a budget
    std::uint32_t node = 0;
    std::size_t group = 0;
    bool is_nominated = false;
    bool is_of_pool = false;  // its job's pool is that of the node
    bool grows_with_demand = false;
};

class StartLimits {
public:
    std::vector<RunningPod>& running() { return running_; }

    // The time when the job is within the limit. Never: unknown.
    [[nodiscard]] Instant within(const ClusterState& state, PoolId pool, const JobRow& job,
                                 const LimitHit& hit, Pace pace, Instant now);

private:
    // GPUs released until then, in total
    using Ends = std::vector<std::pair<Instant, std::int64_t>>;
    using Scope = std::tuple<LimitKind, QueueId, TenantId, Pace>;

    [[nodiscard]] bool counts(const ClusterState& state, const RunningPod& pod, const LimitHit& hit,
                              TenantId tenant) const;
    [[nodiscard]] Instant within_jobs(const ClusterState& state, TenantId tenant,
                                      const LimitHit& hit, Pace pace, Instant now);
    [[nodiscard]] Instant within_budget(const ClusterState& state, PoolId pool, const JobRow& job,
                                        const LimitHit& hit, Pace pace, Instant now);

    std::vector<RunningPod> running_;
    std::map<Scope, Ends> ends_;
    std::map<Scope, std::vector<Instant>> job_ends_;
    std::map<Scope, std::vector<BudgetDraw>> draws_;
};

}  // namespace gpuctl
