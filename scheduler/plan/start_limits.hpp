#pragma once
// When a job that a limit stops may start: once enough of what counts against it has ended. Asked
// for many jobs of few limits, so what counts against each limit is sorted once.
//
// Lifecycle: a StartForecast's.

#include <map>
#include <tuple>
#include <vector>

#include "scheduler/plan/run_pace.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// A pod that holds room, as it was when its node was read.
struct RunningPod {
    JobId job;
    QueueId queue;
    TenantId tenant;
    GpuMilli gpus;
    Instant ends[3];     // by Pace; never: nobody knows
    Instant budget_end;  // until then it counts in a budget
    std::uint32_t node = 0;
    std::size_t group = 0;
    bool is_claim = false;
    bool is_of_pool = false;  // its job's pool is that of the node
    bool grows_with_demand = false;
};

class StartLimits {
public:
    std::vector<RunningPod>& running() { return running_; }

    // Never: that cannot be told.
    [[nodiscard]] Instant within(const ClusterState& state, PoolId pool, const JobRow& job,
                                 const LimitHit& hit, Pace pace, Instant now);

private:
    using Ends = std::vector<std::pair<Instant, std::int64_t>>;  // GPUs until then, in all
    using Scope = std::tuple<LimitKind, QueueId, TenantId, Pace>;

    [[nodiscard]] bool counts(const ClusterState& state, const RunningPod& pod, const LimitHit& hit,
                              TenantId tenant) const;
    [[nodiscard]] Instant within_jobs(const ClusterState& state, const LimitHit& hit, Pace pace,
                                      Instant now);
    [[nodiscard]] Instant within_budget(const ClusterState& state, PoolId pool, const JobRow& job,
                                        const LimitHit& hit, Pace pace, Instant now);

    std::vector<RunningPod> running_;
    std::map<Scope, Ends> ends_;
    std::map<Scope, std::vector<Instant>> job_ends_;
    std::map<Scope, std::vector<BudgetDraw>> draws_;
};

}  // namespace gpuctl
