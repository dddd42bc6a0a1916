#pragma once
// The rows of ClusterState's tables. Any code may read them. Each struct of a row is written by one
// part only, which the table of the row names (table.hpp, ADR 0037).

#include <algorithm>
#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/job/workload.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/queue/usage.hpp"
#include "scheduler/state/accounts/limit_hit.hpp"
#include "scheduler/state/elastic/elastic_row.hpp"
#include "scheduler/state/evictions/churn.hpp"
#include "scheduler/state/evictions/eviction_request.hpp"
#include "scheduler/state/jobs/finished_job.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"
#include "scheduler/state/jobs/job_row.hpp"
#include "scheduler/state/pods/pod_row.hpp"

namespace gpuctl {

// What the part Nodes stores of a node.
struct NodeBase {
    bool live = false;   // the slot is in use
    bool known = false;  // observed; otherwise only pods name it
    NodeFacts facts;     // only the name if it is not known
    PoolId pool;
};

struct NodeRow : NodeBase {
    WindowSet windows = 0;  // the windows that it is in
    std::vector<PodId> pods;
};

// The job starts by `at`, if all running pods run to their limits.
struct HeadReservation {
    JobId job;
    Instant at;  // never: unknown, and what becomes free on its nodes is reserved for it
    friend bool operator==(const HeadReservation&, const HeadReservation&) = default;
};

// What later jobs of a pool may not take.
struct PoolReservations {
    HeadReservation head;  // of the head-of-line job, while there is one
    // Quota reservations: jobs that limits block, for which the rest under these limits is
    // reserved; `at` is when it will be enough.
    std::vector<HeadReservation> under_limits;
    Instant reported_at;  // beginning of the second in which `reports` counts
    // changes of `under_limits`: two heads that put each other first would report for ever
    std::int32_t reports = 0;
    std::uint64_t revision = 1;  // changes with each of these
};

// A GPU model that a queue of the pool reserves.
struct ModelRoom {
    std::string model;
    GpuMilli offered;  // by the pool's known nodes
    GpuMilli held;     // by its queues
    friend bool operator==(const ModelRoom&, const ModelRoom&) = default;
};

template <typename Rooms>
auto* room_of(Rooms& rooms, std::string_view model) {
    const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const ModelRoom& room) {
        return same_gpu_model(room.model, model);
    });
    return found == rooms.end() ? nullptr : &*found;
}

// What the policy says of a pool, its reservations, and counters of its changes.
struct PoolBase {
    std::string name;
    std::int64_t nodes = 0;  // known nodes
    bool in_policy = false;
    std::string description;
    BackfillPolicy backfill;
    PreemptionPolicy preemption;
    PoolReservations reservations;
    // Later jobs may not take what the job waits for: room, or what a limit leaves.
    [[nodiscard]] bool is_reserved_for(JobId job) const {
        const auto is_it = [job](const HeadReservation& one) { return one.job == job; };
        const auto& others = reservations.under_limits;
        return is_it(reservations.head) || std::any_of(others.begin(), others.end(), is_it);
    }
    std::uint64_t gains = 1;    // changes when jobs may fit here that did not
    std::uint64_t changes = 1;  // changes with every change of what is free
    std::uint64_t victims = 1;  // changes when more may be reclaimed from a queue
    // changes when a pod on its nodes begins to terminate, or stays
    std::uint64_t terminations = 1;
    std::vector<QueueId> queues;  // of the policy, by name, including "default"
    std::vector<QueueId> roots;   // queues directly below the pool, by name
    QueueOrder order = QueueOrder::fair_share;
    std::int32_t reserve_percent = 0;
    GpuMilli reserve_gpus;
};

// What a pool offers, and what is held of it.
struct PoolHoldings {
    Load offered;                            // by its known nodes; shares refer to this
    bool shares_stale = false;               // `offered` changed since they were computed
    GpuMilli held;                           // by its queues
    GpuMilli held_or_reserved;               // including what its queues reserve
    std::vector<ModelRoom> reserved_models;  // by the policy, in the order of its queues
    // Null: no queue of the pool reserves GPUs of the model.
    ModelRoom* find_reserved_model(std::string_view model) {
        return room_of(reserved_models, model);
    }
    [[nodiscard]] const ModelRoom* find_reserved_model(std::string_view model) const {
        return room_of(reserved_models, model);
    }
    GpuMilli held_by_growing;              // of `held`: by pods that may use the reserve
    std::vector<GpuMilli> held_by_tenant;  // by TenantId
};

struct PoolRow : PoolBase, PoolHoldings {
    std::int64_t stoppable_without_gpus = 0;  // pods of its queues
    // Whole GPUs, rounded down, and at most what is offered.
    [[nodiscard]] GpuMilli reserve() const {
        const GpuMilli part{offered.gpus.value() / 100 * reserve_percent};
        return std::min(std::max(whole_gpus(whole_gpus_floor(part)), reserve_gpus), offered.gpus);
    }
};

// What a queue or a namespace holds, its decayed usage, and its dominant share of the pool.
struct Account {
    Load held;
    Usage usage;
    std::int64_t share = -1;  // as of the last refresh_shares(); negative: out of date
};

// A queue's limits for one GPU model, and what it and the queues below it hold of it.
struct ModelHolding {
    ModelLimit limit;
    GpuMilli held;
    GpuMilli nominated;  // of `held`: nominated, while victims terminate
    GpuMilli not_lent;   // of its guarantee: not lent while it is idle
};

// A queue's position in the tree, its policy, and counters of its changes.
struct QueueBase {
    PoolId pool;
    std::string name;
    bool in_policy = false;
    // Its position in the tree.
    QueueId parent;                 // none: directly below its pool
    std::vector<QueueId> children;  // by name
    std::int32_t depth = 0;         // number of queues above it
    // Its policy; the defaults while it is not in the policy.
    QueueOrder order = QueueOrder::fair_share;
    std::int32_t priority = 0;
    std::int64_t weight = 1;
    GpuMilli guaranteed;  // at least the sum over its sub-queues
    std::optional<GpuMilli> maximum;
    std::optional<GpuMilli> borrowing_limit;
    GpuMilli not_lent;  // of its guarantee: not lent while it is idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    std::uint64_t shrinks = 1;
    std::uint64_t victims = 1;  // changes when one more of its pods may be evicted
    Instant look_again_at;      // a pod is protected until then; or never
    // Its demand exceeds its guarantee, in a pool where guarantees hold only for queues whose
    // demand fits: as of the last Plan (demand.cpp).
    bool is_beyond_guarantee = false;
};

// What the jobs of a queue hold.
struct QueueHoldings {
    // Charged to this queue: what its own jobs hold, and the number of these jobs.
    Load direct;
    GpuMilli nominated;  // of `direct`: nominated, while victims terminate
    std::int64_t jobs_direct = 0;
    // The same including every queue below it.
    Account account;
    std::int64_t jobs_held = 0;
    GpuMilli held_or_reserved_below;  // what its children hold or reserve
    std::vector<Account> by_tenant;   // of `direct`, by TenantId
};

// The pods of a queue that may be evicted.
struct QueueVictims {
    // Pods of its jobs that hold resources and may be evicted for other jobs, by priority. A
    // priority stays in the map with zero pods.
    std::map<std::int32_t, std::int64_t> preemptible;
    std::vector<StoppablePod> stoppable;      // the same pods, in no order
    std::int64_t stoppable_without_gpus = 0;  // of these; their pool has the sum
};

struct QueueRow : QueueBase, QueueHoldings, QueueVictims {
    GpuMilli waiting;  // what its own waiting jobs request

    // What no other queue may take from it, and what it may reclaim.
    [[nodiscard]] GpuMilli guaranteed_now() const {
        return is_beyond_guarantee ? GpuMilli{} : guaranteed;
    }
    // The most it may hold at once; absent: the whole pool.
    [[nodiscard]] std::optional<GpuMilli> cap() const {
        if (!borrowing_limit) return maximum;
        const GpuMilli most = guaranteed + *borrowing_limit;
        return maximum ? std::min(*maximum, most) : most;
    }
    // True if usage of the queue or the queues below it may keep other jobs of these queues from
    // starting.
    [[nodiscard]] bool has_limits() const { return cap() || jobs_maximum || !models.empty(); }
    // What no other queue can get: held by this queue or the queues below it, or reserved for them;
    // and the same if `more` were held or reserved in addition.
    [[nodiscard]] GpuMilli held_or_reserved_with(GpuMilli more) const {
        return std::max(not_lent, held_or_reserved_below + direct.gpus + more);
    }
    [[nodiscard]] GpuMilli held_or_reserved() const { return held_or_reserved_with(GpuMilli{}); }
};

// The policy of a namespace, and counters of its changes.
struct TenantBase {
    std::string name;
    std::int64_t weight = 1;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<CpuMilli> cpu_maximum;
    std::optional<Bytes> memory_maximum;
    std::string queue;
    std::vector<std::pair<PoolId, GpuMilli>> pool_quotas;
    std::uint64_t shrinks = 1;
    std::uint64_t terminations = 1;  // changes when pods of it begin to terminate, or stay
    // Over all pools.
    [[nodiscard]] bool has_quota() const { return gpu_maximum || cpu_maximum || memory_maximum; }
    [[nodiscard]] bool has_limits() const { return has_quota() || !pool_quotas.empty(); }
};

// What the pods of a namespace hold.
struct TenantHoldings {
    GpuMilli gpus_held;
    CpuMilli cpu_held;
    Bytes memory_held;
};

struct TenantRow : TenantBase, TenantHoldings {};

}  // namespace gpuctl
