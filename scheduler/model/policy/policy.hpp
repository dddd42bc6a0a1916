#pragma once
// What administrators configure: pools, queues, quotas, priorities. The engine receives the
// complete policy in one PolicyChanged event; it comes from gpuctld.yaml.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/policy/budget.hpp"
#include "scheduler/model/policy/maintenance.hpp"

namespace gpuctl {

// How a pool or a queue orders its direct children: docs/adr/0011-queue-tree.md has the table.
enum class QueueOrder : std::uint8_t { fair_share, fifo, priority, capacity, shortest };
BOOST_DESCRIBE_ENUM(QueueOrder, fair_share, fifo, priority, capacity, shortest)

// The guarantee and the maximum of a queue for one GPU model, within its other limits.
struct ModelLimit {
    std::string model;  // compared without case
    GpuMilli guaranteed;
    std::optional<GpuMilli> maximum = std::nullopt;
    friend auto operator<=>(const ModelLimit&, const ModelLimit&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelLimit, (), (model, guaranteed, maximum))

// A queue in the tree of its pool. Jobs wait in leaf queues. A weight decides shares, never an
// order.
struct QueuePolicy {
    std::string name;  // unique in its pool
    std::int32_t priority = 0;
    std::int64_t weight = 1;          // >= 1
    GpuMilli guaranteed;              // served before other queues up to this amount
    std::optional<GpuMilli> maximum;  // limit of the GPUs that it holds; absent: the whole pool
    std::string parent = {};          // empty: directly below the pool
    QueueOrder order = QueueOrder::fair_share;
    std::optional<GpuMilli> borrowing_limit =
        std::nullopt;  // limit above the guarantee; absent: up to the maximum
    std::optional<GpuMilli> lending_limit =
        std::nullopt;  // limit of what it lends of its guarantee to other queues; absent: all of it
    // limit of jobs that hold capacity at the same time
    std::optional<std::int64_t> jobs_maximum = std::nullopt;
    std::optional<GpuMilli> gpus_per_job_maximum = std::nullopt;
    std::vector<ModelLimit> models = {};
    std::optional<BudgetPolicy> budget = std::nullopt;  // includes all queues below it
    friend auto operator<=>(const QueuePolicy&, const QueuePolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(QueuePolicy, (),
                      (name, priority, weight, guaranteed, maximum, parent, order, borrowing_limit,
                       lending_limit, jobs_maximum, gpus_per_job_maximum, models, budget))

// A queue with more queues above it than this is treated as a direct child of its pool.
inline constexpr int kQueueDepthMaximum = 8;

// What other jobs may do while the job at the head of the line finds no room (docs/adr/0012).
enum class HeadOfLine : std::uint8_t {
    step_aside,  // any job that fits starts; the head of the line may wait for ever
    reserve      // EASY: the head gets a reservation; other jobs start only if they do not delay it
};
BOOST_DESCRIBE_ENUM(HeadOfLine, step_aside, reserve)
struct BackfillPolicy {
    HeadOfLine head = HeadOfLine::reserve;
    // With `reserve`: once a head with an unknown start time has waited this long, nodes that suit
    // it are kept for it as they become free; 0: never.
    Duration keep_after = Duration::seconds(3600);
    // With the order SHORTEST: every time this much waiting time passes, the cost of the job is
    // halved ...
    Duration ageing = Duration::seconds(24 * 3600);
    // ... and after this time the job precedes all others, the oldest first, so that no job
    // starves.
    Duration patience = Duration::seconds(52 * 3600);
    // Work with a predicted run time above `short_run_time` never uses this share of the pool's
    // GPUs, so that short work finds room; 0: no such share.
    std::int32_t short_percent = 0;
    Duration short_run_time = Duration::seconds(3600);
    friend auto operator<=>(const BackfillPolicy&, const BackfillPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(BackfillPolicy, (),
                      (head, keep_after, ageing, patience, short_percent, short_run_time))

// Which pods a job may preempt in addition to pods of lower priority (docs/adr/0018).
enum class PreemptionMode : std::uint8_t {
    priority,  // no further pods
    // In queues with the order SHORTEST:
    shortest,  // work with clearly more remaining work
    due        // work with a later due time
};
BOOST_DESCRIBE_ENUM(PreemptionMode, priority, shortest, due)
// When the guarantee of a queue holds.
enum class GuaranteeRule : std::uint8_t {
    always,
    when_demand_fits  // only while the queue holds and waits for no more than its guarantee
};
BOOST_DESCRIBE_ENUM(GuaranteeRule, always, when_demand_fits)
// Which pods a job of higher priority may preempt (docs/adr/0029).
enum class PreemptionVictims : std::uint8_t {
    lower_priority,  // every pod of lower priority except pods whose users exclude it
    preemptible      // only pods that are preemptible for other reasons as well
};
BOOST_DESCRIBE_ENUM(PreemptionVictims, lower_priority, preemptible)
struct PreemptionPolicy {
    PreemptionMode mode = PreemptionMode::priority;
    // Remaining work is time times the number of GPUs to the power of this percentage: 0 counts
    // time alone.
    std::int32_t gpu_exponent_percent = 80;
    // The remaining work of a victim, after all costs of the preemption, must be at least this
    // percentage of the remaining work of the preemptor.
    std::int32_t gain_percent = 100;
    // A job is due when this percentage of its run time has passed since its submission.
    std::int32_t slowdown_percent = 200;
    // A job precedes other jobs if its own run time is at least this percentage of the time that
    // all known work of the pool needs on all its GPUs: it would run alone at the end. 0: no job
    // does.
    std::int32_t makespan_percent = 0;
    GuaranteeRule guarantees = GuaranteeRule::always;
    // With the mode `shortest`: a job that has waited almost this long in total counts with an
    // eighth of its remaining work until it has waited this long. 0: no target.
    Duration wait_target = {};
    PreemptionVictims victims = PreemptionVictims::lower_priority;
    [[nodiscard]] bool stops_by_run_time() const { return mode != PreemptionMode::priority; }
    friend auto operator<=>(const PreemptionPolicy&, const PreemptionPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PreemptionPolicy, (),
                      (mode, gpu_exponent_percent, gain_percent, slowdown_percent, makespan_percent,
                       guarantees, wait_target, victims))

struct PoolPolicy {
    std::string name;
    std::string description;
    std::vector<QueuePolicy> queues;  // "default" always exists, listed or not
    QueueOrder order = QueueOrder::fair_share;
    BackfillPolicy backfill = {};
    PreemptionPolicy preemption = {};
    // This part of the pool's GPUs is only for work that grows with demand: a percentage of what
    // its nodes offer, or a number, whichever is larger.
    std::int32_t reserve_percent = 0;
    GpuMilli reserve_gpus = {};
    friend auto operator<=>(const PoolPolicy&, const PoolPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolPolicy, (),
                      (name, description, queues, order, backfill, preemption, reserve_percent,
                       reserve_gpus))

// The quota of a tenant in one pool.
struct PoolQuota {
    std::string pool;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<BudgetPolicy> budget = std::nullopt;
    friend auto operator<=>(const PoolQuota&, const PoolQuota&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolQuota, (), (pool, gpu_maximum, budget))

// Limits of one tenant (= namespace) over all pools and in single pools, and the weight of the
// tenant in every queue.
struct TenantPolicy {
    std::string name;
    std::int64_t weight = 1;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<CpuMilli> cpu_maximum;
    std::optional<Bytes> memory_maximum;
    std::string queue;  // default queue of this namespace; empty: "default"
    std::vector<PoolQuota> pools = {};
    friend auto operator<=>(const TenantPolicy&, const TenantPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(TenantPolicy, (),
                      (name, weight, gpu_maximum, cpu_maximum, memory_maximum, queue, pools))

struct Policy {
    std::vector<PoolPolicy> pools;  // "default" always exists; nodes may name further pools
    std::vector<TenantPolicy> tenants;
    std::int64_t default_tenant_weight = 1;
    std::optional<GpuMilli> default_tenant_gpu_maximum;
    std::int64_t pods_reserved_per_node = 2;  // pod slots kept free for DaemonSets
    Duration backoff_initial{1'000};          // after an API error; doubles
    Duration backoff_maximum{60'000};
    Duration gang_bind_deadline{30'000};  // a half-bound gang is rolled back after this time
    // A gang that ran completely, and has lacked ranks for this long while it was in line for them,
    // may be evicted for jobs that fit on its capacity; 0: never.
    Duration gang_repair_deadline = Duration::seconds(600);
    std::int32_t plan_attempts_max = 10'000;  // jobs tried per Plan input; a count, never a time
    Duration usage_half_life = Duration::seconds(7LL * 24 * 3600);  // 0: past usage does not count
    // Each `ageing_every` of waiting time adds `ageing_step` to the priority of a job, up to
    // `ageing_maximum`.
    std::int32_t ageing_step = 0;  // 0: off
    Duration ageing_every = Duration::seconds(3600);
    std::int32_t ageing_maximum = 1'000'000;
    // How often one job may be preempted in any hour. 0: never.
    std::int32_t evictions_per_job_per_hour = 2;
    Duration run_time_protected;  // a pod is not preempted for this long after its start
    // An elastic job does not grow for this long after a resize or its start.
    Duration growth_pause = Duration::seconds(60);
    // Elastic jobs with stated speeds get the sizes with the largest marginal speedup, and are
    // resized if the resize pays within this time; 0: they are treated like all other elastic jobs.
    Duration resize_pays_within = Duration::seconds(300);
    std::vector<MaintenanceWindow> windows;  // at most kWindowsMaximum; further windows are ignored
    Drain unhealthy_drain = Drain::none;     // evictions from a node that is reported unhealthy
    // Finished jobs (docs/adr/0030): this many of the newest jobs are kept in full ...
    std::int32_t finished_jobs_detailed = 200;
    // ... this many jobs in total, older ones as a summary ...
    std::int32_t finished_jobs_maximum = 10'000;
    // ... for this long.
    Duration finished_jobs_kept_for = Duration::seconds(24LL * 3600);
    friend auto operator<=>(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (pools, tenants, default_tenant_weight, default_tenant_gpu_maximum,
                       pods_reserved_per_node, backoff_initial, backoff_maximum, gang_bind_deadline,
                       gang_repair_deadline, plan_attempts_max, usage_half_life, ageing_step,
                       ageing_every, ageing_maximum, evictions_per_job_per_hour, run_time_protected,
                       growth_pause, resize_pays_within, windows, unhealthy_drain,
                       finished_jobs_detailed, finished_jobs_maximum, finished_jobs_kept_for))

inline constexpr const char* kDefaultPool = "default";
inline constexpr const char* kDefaultQueue = "default";

}  // namespace gpuctl
