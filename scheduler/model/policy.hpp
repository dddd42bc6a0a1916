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

// What becomes of the others when the first in line finds no room (docs/adr/0012).
enum class HeadOfLine : std::uint8_t {
    step_aside,  // whatever fits goes; the first one may wait for ever
    reserve      // it is promised GPUs from a moment on; others go only if that stays true
};
// Who is first among jobs of one queue and priority.
enum class JobOrder : std::uint8_t {
    submitted,  // tenants by share, then the oldest
    shortest    // the shortest for what it asks, by its limit and its owner's history
};
struct BackfillPolicy {
    HeadOfLine head = HeadOfLine::reserve;
    JobOrder order = JobOrder::submitted;
    // With `shortest`: waiting so long halves what a job is taken to cost ...
    Duration ageing = Duration::seconds(24 * 3600);
    // ... and from here on it goes first, the oldest of them, so that none waits for ever.
    Duration patience = Duration::seconds(52 * 3600);
    // So much of the pool's GPUs is never held by work predicted to run longer than
    // `short_run_time`, so that short work always finds a door; 0: nothing is kept.
    std::int32_t short_percent = 0;
    Duration short_run_time = Duration::seconds(3600);
    friend auto operator<=>(const BackfillPolicy&, const BackfillPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(BackfillPolicy, (),
                      (head, order, ageing, patience, short_percent, short_run_time))

struct PoolPolicy {
    std::string name;
    std::string description;
    std::vector<QueuePolicy> queues;  // "default" always exists, listed or not
    BackfillPolicy backfill;
    friend auto operator<=>(const PoolPolicy&, const PoolPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolPolicy, (), (name, description, queues, backfill))

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
