#include "scheduler/model/policy/named_policy.hpp"

#include <algorithm>
#include <array>

namespace gpuctl {
namespace {

// Ageing so slow that waiting changes no decision: the goal is the mean over all jobs.
constexpr Duration kNoAgeing = Duration::seconds(365LL * 24 * 3600);
// Under these policies a preempted job loses at most the time since its last checkpoint, and
// gain_percent prevents preemptions that do not pay. This number is only a last bound.
constexpr std::int32_t kEvictionsUnbounded = 1'000;

// Orders by run time, and preempts by run time.
NamedPolicy by_run_time(const char* name, const char* goal, PreemptionMode mode) {
    NamedPolicy policy{name, goal};
    policy.order = QueueOrder::shortest;
    policy.preemption.mode = mode;
    policy.evictions_per_job_per_hour = kEvictionsUnbounded;
    return policy;
}

NamedPolicy throughput() {
    NamedPolicy policy =
        by_run_time("throughput", "mean completion time and makespan", PreemptionMode::shortest);
    policy.backfill.ageing = policy.backfill.patience = kNoAgeing;
    policy.preemption.makespan_percent = 98;
    return policy;
}

NamedPolicy fair() {
    NamedPolicy policy = by_run_time(
        "fair", "finish-time fairness: no job takes much longer than alone", PreemptionMode::due);
    policy.backfill.ageing = policy.backfill.patience = kNoAgeing;
    policy.preemption.makespan_percent = 105;
    return policy;
}

NamedPolicy sla() {
    NamedPolicy policy = by_run_time("sla", "queues within their guarantee start in minutes",
                                     PreemptionMode::shortest);
    policy.preemption.guarantees = GuaranteeRule::when_demand_fits;
    policy.preemption.wait_target = Duration::seconds(1'800);
    return policy;
}

NamedPolicy batch() {
    NamedPolicy policy{"batch", "mean slowdown of jobs that cannot be preempted"};
    policy.order = QueueOrder::shortest;
    policy.backfill.short_percent = 5;
    return policy;
}

}  // namespace

std::span<const NamedPolicy> named_policies() {
    static const std::array<NamedPolicy, 5> policies = {
        NamedPolicy{kDefaultPolicyName, "shares between queues and namespaces"},
        throughput(),
        fair(),
        sla(),
        batch(),
    };
    return policies;
}

const NamedPolicy* find_named_policy(std::string_view name) {
    const std::span<const NamedPolicy> all = named_policies();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const NamedPolicy& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

void apply_named_policy(const NamedPolicy& named, PoolPolicy& pool) {
    pool.order = named.order;
    pool.backfill = named.backfill;
    pool.preemption = named.preemption;
}

}  // namespace gpuctl
