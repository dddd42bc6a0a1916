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
#include "scheduler/model/budget.hpp"
#include "scheduler/model/maintenance.hpp"

namespace gpuctl {

// How a pool or a queue orders what is directly below it: docs/adr/0011-queue-tree.md has the
// table.
enum class QueueOrder : std::uint8_t { fair_share, fifo, priority, capacity, shortest };
BOOST_DESCRIBE_ENUM(QueueOrder, fair_share, fifo, priority, capacity, shortest)

// What a queue is promised and may hold of one GPU model, within its other limits.
struct ModelLimit {
    std::string model;  // compared without case
    GpuMilli guaranteed;
    std::optional<GpuMilli> maximum = std::nullopt;
    friend auto operator<=>(const ModelLimit&, const ModelLimit&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelLimit, (), (model, guaranteed, maximum))

// A queue of the tree of its pool. Jobs wait in those without sub-queues. Weight is never an order.
struct QueuePolicy {
    std::string name;  // unique in its pool
    std::int32_t priority = 0;
    std::int64_t weight = 1;          // >= 1
    GpuMilli guaranteed;              // served first up to here
    std::optional<GpuMilli> maximum;  // never held beyond; absent: the whole pool
    std::string parent = {};          // empty: directly below the pool
    QueueOrder order = QueueOrder::fair_share;
    std::optional<GpuMilli> borrowing_limit =
        std::nullopt;  // above the guarantee; absent: up to the maximum
    std::optional<GpuMilli> lending_limit =
        std::nullopt;  // of the guarantee, to others; absent: all of it
    std::optional<std::int64_t> jobs_maximum = std::nullopt;  // that hold something at once
    std::optional<GpuMilli> gpus_per_job_maximum = std::nullopt;
    std::vector<ModelLimit> models = {};
    std::optional<BudgetPolicy> budget = std::nullopt;  // with every queue below it
    friend auto operator<=>(const QueuePolicy&, const QueuePolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(QueuePolicy, (),
                      (name, priority, weight, guaranteed, maximum, parent, order, borrowing_limit,
                       lending_limit, jobs_maximum, gpus_per_job_maximum, models, budget))

// A queue with more above it than this is taken for one directly below its pool.
inline constexpr int kQueueDepthMaximum = 8;

// What becomes of the others when the first in line finds no room (docs/adr/0012).
enum class HeadOfLine : std::uint8_t {
    step_aside,  // whatever fits goes; the first one may wait for ever
    reserve      // it is promised GPUs from a moment on; others go only if that stays true
};
BOOST_DESCRIBE_ENUM(HeadOfLine, step_aside, reserve)
struct BackfillPolicy {
    HeadOfLine head = HeadOfLine::reserve;
    // With `reserve`: whom nothing can be promised is kept what comes free where it would fit
    // first, from so long after it came on; 0: never.
    Duration keep_after = Duration::seconds(3600);
    // With the order SHORTEST: waiting so long halves what a job is taken to cost ...
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
                      (head, keep_after, ageing, patience, short_percent, short_run_time))

// Whom a job that finds no room may have stopped beside those of lower priority (docs/adr/0018).
enum class PreemptionMode : std::uint8_t {
    priority,  // nobody
    // In queues whose order is `shortest`:
    shortest,  // work of which clearly more is left
    due        // work that is due later
};
BOOST_DESCRIBE_ENUM(PreemptionMode, priority, shortest, due)
// Whose guarantee holds.
enum class GuaranteeRule : std::uint8_t {
    always,
    when_demand_fits  // of a queue that holds and waits for no more than it is guaranteed
};
BOOST_DESCRIBE_ENUM(GuaranteeRule, always, when_demand_fits)
// Which pods a job of higher priority may have stopped (docs/adr/0029).
enum class PreemptionVictims : std::uint8_t {
    lower_priority,  // every one of lower priority, but those whose users say that they may not be
    preemptible      // only those that may be stopped for other reasons as well
};
BOOST_DESCRIBE_ENUM(PreemptionVictims, lower_priority, preemptible)
struct PreemptionPolicy {
    PreemptionMode mode = PreemptionMode::priority;
    // How much is left is time times GPUs to the power of this in percent: 0 counts time alone.
    std::int32_t gpu_exponent_percent = 80;
    // What is left of the one that is stopped, after all that stopping costs, is at least so much
    // of what is left of the one that it is stopped for.
    std::int32_t gain_percent = 100;
    // A job is due when so much of the time that it needs alone has passed since it came.
    std::int32_t slowdown_percent = 200;
    // A job that needs so much of the time that all known work of the pool needs on all its GPUs
    // goes first: it would run on alone when the rest is done. 0: none does.
    std::int32_t makespan_percent = 0;
    GuaranteeRule guarantees = GuaranteeRule::always;
    // With `shortest`: a job that has nearly waited so long altogether counts for an eighth of
    // what is left of it, until it has. 0: no such target.
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
    // So much of its GPUs is held by work that grows with demand, and by no other: in percent of
    // what its nodes offer, or as a number, whichever is more.
    std::int32_t reserve_percent = 0;
    GpuMilli reserve_gpus = {};
    friend auto operator<=>(const PoolPolicy&, const PoolPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolPolicy, (),
                      (name, description, queues, order, backfill, preemption, reserve_percent,
                       reserve_gpus))

// What a tenant may hold of one pool.
struct PoolQuota {
    std::string pool;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<BudgetPolicy> budget = std::nullopt;
    friend auto operator<=>(const PoolQuota&, const PoolQuota&) = default;
};
BOOST_DESCRIBE_STRUCT(PoolQuota, (), (pool, gpu_maximum, budget))

// Limits of one tenant (= namespace) over all pools and in some, and its weight in every queue.
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
    std::vector<PoolPolicy> pools;  // "default" always exists; nodes may bring others
    std::vector<TenantPolicy> tenants;
    std::int64_t default_tenant_weight = 1;
    std::optional<GpuMilli> default_tenant_gpu_maximum;
    std::int64_t pods_reserved_per_node = 2;  // pod slots kept free for DaemonSets (S14b)
    Duration backoff_initial{1'000};          // after an API error; doubles
    Duration backoff_maximum{60'000};
    Duration gang_bind_deadline{30'000};  // then a half-bound gang is rolled back (G4)
    // A gang that ran as a whole and has lacked ranks for so long, in line for them, leaves what it
    // holds to jobs that fit there; 0: never.
    Duration gang_repair_deadline = Duration::seconds(600);
    std::int32_t plan_attempts_max = 10'000;  // jobs tried per Plan input; a count, never a time
    Duration usage_half_life = Duration::seconds(7LL * 24 * 3600);  // 0: past usage does not count
    // Each `ageing_every` waited adds `ageing_step` to a job's priority, up to `ageing_maximum`.
    std::int32_t ageing_step = 0;  // 0: off
    Duration ageing_every = Duration::seconds(3600);
    std::int32_t ageing_maximum = 1'000'000;
    // How often one job may be moved out of the way: so many times in any hour. 0: never.
    std::int32_t evictions_per_job_per_hour = 2;
    Duration run_time_protected;  // so long after its start nothing is stopped for others
    // So long after it changed size, or started, an elastic job does not grow.
    Duration growth_pause = Duration::seconds(60);
    // Those that say how fast they are by size have the sizes by which most is gained, and change
    // them where that pays within so long; 0: like all others.
    Duration resize_pays_within = Duration::seconds(300);
    std::vector<MaintenanceWindow> windows;  // at most kWindowsMaximum; those beyond do not count
    Drain unhealthy_drain = Drain::none;  // who is stopped on a node that is told to be unhealthy
    // Finished jobs (docs/adr/0030): the newest are kept in full, as many as that ...
    std::int32_t finished_jobs_detailed = 200;
    // ... and with these so many altogether, the others by a summary ...
    std::int32_t finished_jobs_maximum = 10'000;
    // ... for so long.
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
