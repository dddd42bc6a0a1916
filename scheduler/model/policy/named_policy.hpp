#pragma once
// The named policies (docs/adr/0038, docs/policies/): each is a complete set of the values that
// decide the order of jobs, backfill and preemption. gpuctld.yaml and the trace replays choose a
// policy by name; no other place sets these values together.

#include <cstdint>
#include <span>
#include <string_view>

#include "scheduler/model/policy/policy.hpp"

namespace gpuctl {

struct NamedPolicy {
    std::string_view name;
    std::string_view optimises;
    QueueOrder order = QueueOrder::fair_share;  // of the pool and of each of its queues
    BackfillPolicy backfill = {};
    PreemptionPolicy preemption = {};
    // Applies to the whole cluster: Policy::evictions_per_job_per_hour, if this is the policy of
    // the cluster.
    std::int32_t evictions_per_job_per_hour = 2;
};

// All named policies. The first is the default: its members are those of a default-constructed
// PoolPolicy and Policy.
std::span<const NamedPolicy> named_policies();
inline constexpr std::string_view kDefaultPolicyName = "balanced";

// nullptr: no policy has this name.
const NamedPolicy* find_named_policy(std::string_view name);

// Sets the order, backfill and preemption of `pool`; its queues are not changed.
void apply_named_policy(const NamedPolicy& named, PoolPolicy& pool);

}  // namespace gpuctl
