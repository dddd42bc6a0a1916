#pragma once
// What the outside may read of the engine: plain values, taken on the loop thread, made on request.
// Lists are ordered by name, so that paging is stable.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/listing/listing.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/plan/start_estimate.hpp"
#include "scheduler/state/finished_job.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

struct PodView {
    PodFacts facts;
    PodStanding standing = PodStanding::foreign;
    std::string node;                     // bound or assumed; empty while waiting
    std::int32_t gpu_device = kNoDevice;  // of that node, for a part of a GPU
};

struct RoleView {
    RoleMinimum minimum;
    std::int64_t ranks = 0;  // that hold a node or succeeded
};

// Kubernetes' words (ruling 3): Pending, Running, Succeeded, Failed, Terminating, and "Partially
// Running" for a service with some replicas up.
struct JobView {
    ObjectKey key;
    std::optional<JobKind> kind;  // absent: pods of a Kubernetes user, not made by us
    std::string status;
    bool never_made = false;  // refused by the cluster for good: its name is free
    std::string queue;        // empty: system-critical pods belong to none
    std::string pool;
    std::int32_t priority = 0;
    Instant submitted_at;
    Instant started_at;  // its run: the present one, or else the last
    Instant finished_at;
    bool gang = false;
    std::int32_t ranks_min = 0;
    std::int32_t ranks_max = 0;   // of an elastic job; else 0
    std::string size;             // of an elastic job that runs: why it is not larger, for people
    std::vector<RoleView> roles;  // of a gang, by name
    GpuMilli gpus_per_pod;
    std::int64_t pods_wanted = 0;
    std::int64_t pods_running = 0;
    std::optional<StartEstimate> start;  // while it waits, as far as it can be told
    std::int64_t position = 0;  // 1-based among the waiting jobs of its queue; 0: not waiting
    std::vector<PodView> pods;  // ordered by rank, then name
    std::optional<Explanation> waiting;  // present while a pod of it waits
    const JobRecord* record = nullptr;   // jobs submitted through us; valid until the next step()
    // Of a finished job: all that is kept of it (ADR 0030), without `pods` and `record`; likewise.
    const FinishedJob* summary = nullptr;
};

struct NodeView {
    NodeFacts facts;
    Resources used;  // by every pod on it, foreign ones and binds in flight included
    // What they ask for beyond what the node offers: other schedulers and static pods may put more
    // on a node than it has, and a node may come back smaller (ruling 20). Never our doing.
    Resources excess;
    GpuMilli gpus_claimed;  // by those for whom others are being stopped; not used by them yet
    std::vector<PodView> pods;
    // The window that it is in, or else that comes next.
    struct Maintenance {
        std::string name;
        Instant begin;
        Instant end;
        bool has_begun = false;
        bool is_reservation = false;    // some may use it
        std::int64_t pods_to_stay = 0;  // of ours, that nobody may stop for it
    };
    std::optional<Maintenance> maintenance;
    bool takes_work = true;  // ordinary work, now
    GpuStates gpus;
};

// What of a budget of GPU time was used in the period under way.
struct BudgetView {
    std::string tenant;  // empty: a queue's
    BudgetPolicy policy;
    Period period;
    GpuTime carried;  // from the one before; negative: it was overdrawn
    GpuTime used;
    GpuTime committed;  // to what runs
};

struct QueueView {
    std::string pool;
    std::string name;
    std::int32_t priority = 0;
    std::int64_t weight = 1;
    std::string path;        // "research/llm"
    std::string parent;      // empty: directly below the pool
    std::int32_t depth = 0;  // of queues above it
    bool holds_queues = false;
    bool is_declared = true;  // false: only jobs name it, the policy does not
    QueueOrder order = QueueOrder::fair_share;
    GpuMilli guaranteed;               // no less than its sub-queues' together
    bool is_beyond_guarantee = false;  // it wants more, and so is guaranteed nothing now
    std::optional<GpuMilli> maximum;
    std::optional<GpuMilli> borrowing_limit;
    GpuMilli keeps;  // of its guarantee, even while idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    std::optional<BudgetView> budget;
    // From here on with every queue below it.
    GpuMilli held;           // bound and in flight
    GpuMilli claimed;        // beside these, what others are being stopped for
    GpuMilli entitled;       // its fair part of the pool, for what it holds and waits for
    std::int64_t share = 0;  // dominant share, held and used, in parts per billion of the pool
    Load used;               // the decayed mean
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;  // asked for by the waiting pods
};

struct PoolView {
    std::string name;
    std::string description;
    QueueOrder order = QueueOrder::fair_share;  // of the queues that lie directly in it
    std::vector<std::string> nodes;
    GpuMilli gpus_total;
    GpuMilli gpus_used;
    // Neither used nor claimed, on nodes that take work; with what is left of GPUs in parts.
    GpuMilli gpus_free;
    GpuMilli gpus_free_largest_on_a_node;  // whole ones only
    GpuStates gpus;
    GpuMilli gpus_excess;                            // NodeView::excess, summed
    std::int64_t nodes_excess = 0;                   // with an excess of anything
    std::int64_t nodes_closed = 0;                   // in maintenance, or unhealthy
    std::map<std::string, std::int64_t> gpu_models;  // model -> whole GPUs
    std::vector<QueueView> queues;
    std::vector<BudgetView> budgets;  // of namespaces, by name
    GpuMilli reserve;                 // for what grows with demand
    GpuMilli guarantees_uncovered;    // guaranteed to queues beyond what is left beside the reserve
};

struct JobFilter {
    std::optional<std::string> namespace_name;
    std::optional<std::string> pool;
    std::optional<JobKind> kind;
    bool made_elsewhere = false;        // only pods of Kubernetes users, which have no kind
    std::optional<std::string> status;  // compared without case
};

std::vector<JobView> list_jobs(const ClusterState& state, const JobFilter& filter);
// By job name, whole name ("gang:train", "gpuctl:train") or pod name. `namespace_name` empty: every
// namespace; JobNotFound or JobAmbiguous (the matches are in Error::details).
Result<JobView> find_job(const ClusterState& state, std::string_view namespace_name,
                         std::string_view name);
// The same from an index: it costs what it returns. The start is the one that lists show.
Result<JobView> find_job(Listing& listing, std::string_view namespace_name, std::string_view name);
std::vector<NodeView> list_nodes(const ClusterState& state);
std::optional<NodeView> find_node(const ClusterState& state, std::string_view name);
std::vector<PoolView> list_pools(const ClusterState& state);
std::vector<PoolView> list_pools(Listing& listing);
std::vector<QueueView> list_queues(const ClusterState& state);
std::vector<QueueView> list_queues(const Listing& listing);

// Everything that keeps the job from starting, the first blocker first, recomputed against the
// state as it is now. Empty: nothing blocks it.
std::vector<Explanation> explain_job(const ClusterState& state, const ObjectKey& job);

// Every term of docs/adr/0011-queue-tree.md that decides when a waiting job is tried.
struct TurnView {
    struct Level {
        std::string queue;
        QueueOrder order = QueueOrder::fair_share;  // of what it lies in
        std::int32_t priority = 0;
        GpuMilli guaranteed;
        GpuMilli held;
        GpuMilli leaving;         // of that: it counts for no turn
        std::int64_t share = 0;   // parts per billion of the pool, held and used
        std::int64_t lately = 0;  // the same of the tick under way: it tells equal shares apart
        std::int64_t weight = 1;
        bool is_beyond_guarantee = false;  // it wants more, and so is guaranteed nothing now
    };
    std::vector<Level> levels;                  // from the pool down to the job's queue
    QueueOrder order = QueueOrder::fair_share;  // of the jobs of that queue
    std::int64_t priority = 0;                  // as submitted
    std::int64_t priority_by_waiting = 0;
    Duration waited;
    Instant due_at;              // where the pool goes by that; or never
    std::int64_t due_times = 1;  // of what the pool allows: it could not be done any sooner
    Instant begin_by;            // or it would run on alone, where the pool minds that; or never
    // Where the pool has a target for waiting: from when until when it goes sooner for it; or
    // never.
    Instant sooner_from;
    Instant sooner_until;
    // With the order SHORTEST: what it goes by, and how it came to be known.
    struct RunTime {
        Duration time;         // that it takes, or that is left of it
        bool is_left = false;  // long work is stopped for short: of it, times its GPUs to a power
        bool is_told = false;  // by its user; else by its limit and what its owner ran before
        GpuMilli gpus;
        std::int32_t gpu_exponent_percent = 0;
        Duration halved_every;  // by waiting so long
    };
    std::optional<RunTime> run_time;
    std::vector<ObjectKey> ahead;  // of it in its queue, first in line first: the first of them
    std::int64_t ahead_count = 0;
    std::string tenant;
    std::int64_t tenant_share = 0;  // in that queue
    std::int64_t tenant_lately = 0;
    std::int64_t tenant_weight = 1;
    GpuMilli tenant_held;     // of the pool
    GpuMilli tenant_leaving;  // of that
    std::optional<GpuMilli> tenant_quota;
};
// Absent: the job does not wait for its turn in a queue.
std::optional<TurnView> turn_of(const ClusterState& state, const ObjectKey& job);

// Would this job ever start? Errors: PoolNotFound, PoolEmpty, QueueNotFound, NeverFits (says what
// the largest node offers), QuotaExceeded (more than its namespace or queue may ever hold).
std::optional<Error> preflight(const ClusterState& state, const JobSpec& spec);

}  // namespace gpuctl
