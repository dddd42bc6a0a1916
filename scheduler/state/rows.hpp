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

// What the part Nodes keeps of a node.
struct NodeBase {
    bool live = false;   // the slot is in use
    bool known = false;  // observed; else only pods speak of it
    NodeFacts facts;     // only the name when not known
    PoolId pool;
};

struct NodeRow : NodeBase {
    WindowSet windows = 0;  // that it is in
    std::vector<PodId> pods;
};

// The job starts by `at`, if everything runs to its limit.
struct HeadReservation {
    JobId job;
    Instant at;  // never: unknown, and what comes free on its nodes is reserved for it
    friend bool operator==(const HeadReservation&, const HeadReservation&) = default;
};

// What later jobs of a pool may not take.
struct PoolReservations {
    HeadReservation head;  // of the head-of-line job, while there is one
    // Jobs for which what is left under limits is reserved, as limits stop them; `at` is when it
    // will be enough.
    std::vector<HeadReservation> under_limits;
    Instant reported_at;       // since then news of `under_limits` came this often: two heads that
    std::int32_t reports = 0;  // put each other first would make news for ever
    std::uint64_t revision = 1;  // moves with every change of these
};

// Of a GPU model that some queue of the pool keeps back.
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
    std::int64_t nodes = 0;  // known ones
    bool in_policy = false;
    std::string description;
    BackfillPolicy backfill;
    PreemptionPolicy preemption;
    PoolReservations reservations;
    // No later job may take what it waits for: room, or what a limit leaves.
    [[nodiscard]] bool is_reserved_for(JobId job) const {
        const auto is_it = [job](const HeadReservation& one) { return one.job == job; };
        const auto& others = reservations.under_limits;
        return is_it(reservations.head) || std::any_of(others.begin(), others.end(), is_it);
    }
    std::uint64_t gains = 1;         // moves when something here may now fit that did not
    std::uint64_t changes = 1;       // moves with every change of what is free
    std::uint64_t victims = 1;       // moves when more could be taken back from a queue of it
    std::uint64_t terminations = 1;  // moves when a pod on its nodes gets on its way out, or stays
    std::vector<QueueId> queues;     // of the policy, by name, "default" among them
    std::vector<QueueId> roots;      // those directly below it, by name
    QueueOrder order = QueueOrder::fair_share;
    std::int32_t reserve_percent = 0;
    GpuMilli reserve_gpus;
};

// What a pool has, and what is held of it.
struct PoolHoldings {
    Load offered;                            // by its known nodes: what shares are shares of
    bool shares_stale = false;               // `offered` changed since they were computed
    GpuMilli held;                           // by its queues
    GpuMilli held_or_reserved;               // with what they keep back
    std::vector<ModelRoom> reserved_models;  // by the policy, in the order of its queues
    // Null: no queue of it keeps any of the model back.
    ModelRoom* find_reserved_model(std::string_view model) {
        return room_of(reserved_models, model);
    }
    [[nodiscard]] const ModelRoom* find_reserved_model(std::string_view model) const {
        return room_of(reserved_models, model);
    }
    GpuMilli held_by_growing;              // of `held`: by what may use the reserve
    std::vector<GpuMilli> held_by_tenant;  // by TenantId
};

struct PoolRow : PoolBase, PoolHoldings {
    std::int64_t stoppable_without_gpus = 0;  // pods of its queues
    // Whole GPUs, rounded down; never more than there are.
    [[nodiscard]] GpuMilli reserve() const {
        const GpuMilli part{offered.gpus.value() / 100 * reserve_percent};
        return std::min(std::max(whole_gpus(whole_gpus_floor(part)), reserve_gpus), offered.gpus);
    }
};

// What a queue or a namespace holds and held, and its dominant share of the pool for it.
struct Account {
    Load held;
    Usage usage;
    std::int64_t share = -1;  // as of the last refresh_shares(); negative: changed since
};

// A queue's limits for one GPU model, and what it holds of it with every queue below.
struct ModelHolding {
    ModelLimit limit;
    GpuMilli held;
    GpuMilli nominated;  // of `held`: of what still leaves
    GpuMilli not_lent;   // of its guarantee, not lent while it is idle
};

// A queue's place in the tree, what the policy says of it, and counters of its changes.
struct QueueBase {
    PoolId pool;
    std::string name;
    bool in_policy = false;
    // Its place in the tree.
    QueueId parent;                 // none: directly below its pool
    std::vector<QueueId> children;  // by name
    std::int32_t depth = 0;         // of queues above it
    // What the policy says of it; as if it said nothing while it is not in the policy.
    QueueOrder order = QueueOrder::fair_share;
    std::int32_t priority = 0;
    std::int64_t weight = 1;
    GpuMilli guaranteed;  // no less than its sub-queues' together
    std::optional<GpuMilli> maximum;
    std::optional<GpuMilli> borrowing_limit;
    GpuMilli not_lent;  // of its guarantee, not lent while it is idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    std::uint64_t shrinks = 1;
    std::uint64_t victims = 1;  // moves when one more of its pods could be stopped
    Instant look_again_at;      // a pod is protected until then; or never
    // It wants more than it is guaranteed, where guarantees hold for those only that do not: as of
    // the last Plan (demand.cpp).
    bool is_beyond_guarantee = false;
};

// What the jobs of a queue hold.
struct QueueHoldings {
    // Charged to it by name: what its own jobs hold, and how many jobs those are.
    Load direct;
    GpuMilli nominated;  // of `direct`: what others are still being stopped for
    std::int64_t jobs_direct = 0;
    // The same with every queue below it.
    Account account;
    std::int64_t jobs_held = 0;
    GpuMilli held_or_reserved_below;  // what its children keep
    std::vector<Account> by_tenant;   // of `direct`, by TenantId
};

// The pods of a queue that may be stopped.
struct QueueVictims {
    // Pods of its jobs that hold something and may be stopped for others, by priority; a priority
    // once seen stays, with zero.
    std::map<std::int32_t, std::int64_t> preemptible;
    std::vector<StoppablePod> stoppable;      // the same pods, in no order
    std::int64_t stoppable_without_gpus = 0;  // of them, for any reason; their pool has the sum
};

struct QueueRow : QueueBase, QueueHoldings, QueueVictims {
    GpuMilli waiting;  // what its own jobs in line ask for

    // What no other queue may take from it, and what it may take back.
    [[nodiscard]] GpuMilli guaranteed_now() const {
        return is_beyond_guarantee ? GpuMilli{} : guaranteed;
    }
    // The most it may hold at once; absent: the whole pool.
    [[nodiscard]] std::optional<GpuMilli> cap() const {
        if (!borrowing_limit) return maximum;
        const GpuMilli most = guaranteed + *borrowing_limit;
        return maximum ? std::min(*maximum, most) : most;
    }
    // What work of it and below it holds may keep other work of those from starting.
    [[nodiscard]] bool has_limits() const { return cap() || jobs_maximum || !models.empty(); }
    // What no other queue can have: held by it, or kept back for it, or for what is below it; and
    // the same if what its children keep, or its own jobs hold, were `more`.
    [[nodiscard]] GpuMilli held_or_reserved_with(GpuMilli more) const {
        return std::max(not_lent, held_or_reserved_below + direct.gpus + more);
    }
    [[nodiscard]] GpuMilli held_or_reserved() const { return held_or_reserved_with(GpuMilli{}); }
};

// What the policy says of a namespace, and counters of its changes.
struct TenantBase {
    std::string name;
    std::int64_t weight = 1;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<CpuMilli> cpu_maximum;
    std::optional<Bytes> memory_maximum;
    std::string queue;
    std::vector<std::pair<PoolId, GpuMilli>> pool_quotas;
    std::uint64_t shrinks = 1;
    std::uint64_t terminations = 1;  // moves when pods of it begin to leave, or stay after all
    // Of all pools together.
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
