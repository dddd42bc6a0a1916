#pragma once
// What the administrators decide: pools, queues, quotas, priorities. Reaches the engine whole, as
// one PolicyChanged event (ruling 13), from gpuctld.yaml today.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl {

// Among queues of one pool: higher priority first; equal ones share by weight (held GPUs / weight,
// least first), those still under their guarantee before the others. Weight is never an order.
struct QueuePolicy {
    std::string name;
    std::int32_t priority = 0;
    std::int64_t weight = 1;          // >= 1
    GpuMilli guaranteed;              // served first up to here
    std::optional<GpuMilli> maximum;  // never held beyond; absent: the whole pool
    friend auto operator<=>(const QueuePolicy&, const QueuePolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(QueuePolicy, (), (name, priority, weight, guaranteed, maximum))

struct PoolPolicy {
    std::string name;
    std::string description;
    std::vector<QueuePolicy> queues;  // "default" always exists, listed or not
    friend auto operator<=>(const PoolPolicy&, const PoolPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolPolicy, (), (name, description, queues))

// Limits of one tenant (= namespace) over all pools, and its weight inside every queue.
struct TenantPolicy {
    std::string name;
    std::int64_t weight = 1;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<CpuMilli> cpu_maximum;
    std::optional<Bytes> memory_maximum;
    std::string queue;  // default queue of this namespace; empty: "default"
    friend auto operator<=>(const TenantPolicy&, const TenantPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(TenantPolicy, (),
                      (name, weight, gpu_maximum, cpu_maximum, memory_maximum, queue))

struct Policy {
    std::vector<PoolPolicy> pools;  // "default" always exists; nodes may bring others
    std::vector<TenantPolicy> tenants;
    std::int64_t default_tenant_weight = 1;
    std::optional<GpuMilli> default_tenant_gpu_maximum;
    std::int64_t pods_reserved_per_node = 2;  // pod slots kept free for DaemonSets (S14b)
    Duration backoff_initial{1'000};          // after an API error; doubles
    Duration backoff_maximum{60'000};
    Duration gang_bind_deadline{30'000};      // then a half-bound gang is rolled back (G4)
    std::int32_t plan_attempts_max = 10'000;  // jobs tried per Plan input; a count, never a time
    friend auto operator<=>(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (pools, tenants, default_tenant_weight, default_tenant_gpu_maximum,
                       pods_reserved_per_node, backoff_initial, backoff_maximum, gang_bind_deadline,
                       plan_attempts_max))

inline constexpr const char* kDefaultPool = "default";
inline constexpr const char* kDefaultQueue = "default";

}  // namespace gpuctl
