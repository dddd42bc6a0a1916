#pragma once
// What other rooms may read of the engine: plain values, made on request on the loop thread. Lists
// are ordered by name, so that paging is stable.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/listing/listing.hpp"
#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/explanation/refusal_facts.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/plan/estimate/start_estimate.hpp"
#include "scheduler/state/jobs/finished_job.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

struct PodView {
    PodFacts facts;
    BindState standing = BindState::foreign;
    std::string node;                     // bound or assumed; empty while waiting
    std::int32_t gpu_device = kNoDevice;  // on that node, for a fraction of a GPU
};

struct RoleView {
    RoleMinimum minimum;
    std::int64_t ranks = 0;  // ranks that hold a node or succeeded
};

// The status is that of Kubernetes: Pending, Running, Succeeded, Failed, Terminating, and
// "Partially Running" for a service with some replicas running.
struct JobView {
    ObjectKey key;
    std::optional<JobKind> kind;  // absent: pods of a Kubernetes user, not made by us
    std::string status;
    bool never_made = false;  // permanently refused by the cluster: its name is free
    std::string queue;        // empty: system-critical pods are in no queue
    std::string pool;
    std::int32_t priority = 0;
    Instant submitted_at;
    Instant started_at;  // of its present run, or else the last
    Instant finished_at;
    bool gang = false;
    std::int32_t ranks_min = 0;
    std::int32_t ranks_max = 0;   // of an elastic job; else 0
    std::vector<Fact> size;       // of a running elastic job: why it is not larger
    std::vector<RoleView> roles;  // of a gang, by name
    GpuMilli gpus_per_pod;
    std::int64_t pods_wanted = 0;
    std::int64_t pods_running = 0;
    std::optional<StartEstimate> start;  // while it waits, if known
    std::int64_t position = 0;  // 1-based among the waiting jobs of its queue; 0: not waiting
    std::vector<PodView> pods;  // ordered by rank, then name
    std::optional<Explanation> waiting;  // present while one of its pods waits
    const JobRecord* record = nullptr;   // jobs submitted through us; valid until the next step()
    // For a finished job: everything that is kept (docs/adr/0030), without `pods` and `record`;
    // valid likewise.
    const FinishedJob* summary = nullptr;
};

struct NodeView {
    NodeFacts facts;
    Resources used;  // by every pod on it, including foreign pods and binds in flight
    // Requests beyond what the node offers: other schedulers and static pods may exceed its
    // capacity, and a node may return with less capacity. Our decisions never exceed it.
    Resources excess;
    GpuMilli gpus_claimed;  // nominated: pods are being evicted for other jobs; not in use yet
    std::vector<PodView> pods;
    // The current window of the node, or else the next one.
    struct Maintenance {
        std::string name;
        Instant begin;
        Instant end;
        bool has_begun = false;
        bool is_reservation = false;    // a reservation: some jobs may use it
        std::int64_t pods_to_stay = 0;  // of ours, that the window does not evict
    };
    std::optional<Maintenance> maintenance;
    bool takes_work = true;  // accepts ordinary work now
    GpuStates gpus;
};

// The used GPU time of a budget in the current period.
struct BudgetView {
    std::string tenant;  // empty: a queue's budget
    BudgetPolicy policy;
    Period period;
    GpuTime carried;  // from the previous period; negative: overdrawn
    GpuTime used;
    GpuTime committed;  // to running pods
};

struct QueueView {
    std::string pool;
    std::string name;
    std::int32_t priority = 0;
    std::int64_t weight = 1;
    std::string path;        // "research/llm"
    std::string parent;      // empty: a direct child of the pool
    std::int32_t depth = 0;  // number of queues above it
    bool holds_queues = false;
    bool is_declared = true;  // false: only jobs name it, the policy does not
    QueueOrder order = QueueOrder::fair_share;
    GpuMilli guaranteed;               // no less than the sum of its sub-queues
    bool is_beyond_guarantee = false;  // its demand is larger: no guarantee holds now
    std::optional<GpuMilli> maximum;
    std::optional<GpuMilli> borrowing_limit;
    GpuMilli keeps;  // of its guarantee, even while idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    std::optional<BudgetView> budget;
    // From here on including every queue below it.
    GpuMilli held;           // bound and in flight
    GpuMilli claimed;        // in addition, what pods are being evicted for
    GpuMilli entitled;       // its fair share of the pool, by its usage and demand
    std::int64_t share = 0;  // dominant share, held and used, in parts per billion of the pool
    Load used;               // the decayed mean
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;  // requested by the waiting pods
};

struct PoolView {
    std::string name;
    std::string description;
    QueueOrder order = QueueOrder::fair_share;  // of its direct child queues
    std::vector<std::string> nodes;
    GpuMilli gpus_total;
    GpuMilli gpus_used;
    // Neither used nor nominated, on nodes that accept work, including rests of GPUs in partial
    // use.
    GpuMilli gpus_free;
    GpuMilli gpus_free_largest_on_a_node;  // whole ones only
    GpuStates gpus;
    GpuMilli gpus_excess;                            // sum of NodeView::excess
    std::int64_t nodes_excess = 0;                   // with an excess of any resource
    std::int64_t nodes_closed = 0;                   // in maintenance, or unhealthy
    std::map<std::string, std::int64_t> gpu_models;  // model -> whole GPUs
    std::vector<QueueView> queues;
    std::vector<BudgetView> budgets;  // of namespaces, by name
    GpuMilli reserve;                 // for work that grows with demand
    GpuMilli guarantees_uncovered;    // guarantees beyond the capacity without the reserve
};

struct JobFilter {
    std::optional<std::string> namespace_name;
    std::optional<std::string> pool;
    std::optional<JobKind> kind;
    bool made_elsewhere = false;        // only pods of Kubernetes users, which have no kind
    std::optional<std::string> status;  // compared without case
};

std::vector<JobView> list_jobs(const ClusterState& state, const JobFilter& filter);
// By job name, unique name ("gang:train", "gpuctl:train") or pod name. `namespace_name` empty:
// every namespace; JobNotFound or JobAmbiguous (the matches are in Error::details).
Result<JobView> find_job(const ClusterState& state, std::string_view namespace_name,
                         std::string_view name);
// The same from an index: it costs what it returns. The start estimate is the one of lists.
Result<JobView> find_job(Listing& listing, std::string_view namespace_name, std::string_view name);
std::vector<NodeView> list_nodes(const ClusterState& state);
std::optional<NodeView> find_node(const ClusterState& state, std::string_view name);
std::vector<PoolView> list_pools(const ClusterState& state);
std::vector<PoolView> list_pools(Listing& listing);
std::vector<QueueView> list_queues(const ClusterState& state);
std::vector<QueueView> list_queues(const Listing& listing);

// Everything that keeps the job from starting, the first blocker first, recomputed for the present
// state. Empty: nothing blocks it.
std::vector<Explanation> explain_job(const ClusterState& state, const ObjectKey& job);
// Of these, the planner's blockers of the job itself. `ready` is the result of read_readiness()
// now.
std::vector<Explanation> reasons_to_wait(const ClusterState& state, JobId job,
                                         const Readiness& ready);

// Every term of docs/adr/0011-queue-tree.md that decides when a waiting job is tried.
struct TurnView {
    struct Level {
        std::string queue;
        QueueOrder order = QueueOrder::fair_share;  // of its parent
        std::int32_t priority = 0;
        GpuMilli guaranteed;
        GpuMilli held;
        GpuMilli leaving;         // of held: excluded from the order
        std::int64_t share = 0;   // parts per billion of the pool, held and used
        std::int64_t lately = 0;  // the same for the current tick: it breaks ties of equal shares
        std::int64_t weight = 1;
        bool is_beyond_guarantee = false;  // its demand is larger: no guarantee holds now
    };
    std::vector<Level> levels;                  // from the pool down to the job's queue
    QueueOrder order = QueueOrder::fair_share;  // of the jobs of that queue
    std::int64_t priority = 0;                  // as submitted
    std::int64_t priority_by_waiting = 0;
    Duration waited;
    Instant due_at;              // if the pool orders by due times; or never
    std::int64_t due_times = 1;  // factor of the allowed slowdown: sooner is impossible
    Instant begin_by;            // or it would run alone, if the pool avoids that; or never
    // If the pool has a target for waiting times: when the job goes sooner for it; or never.
    Instant sooner_from;
    Instant sooner_until;
    // With the order SHORTEST: the run time that it is ordered by, and its source.
    struct RunTime {
        Duration time;         // run time, or remaining run time
        bool is_left = false;  // remaining, times GPUs to a power (docs/adr/0018)
        bool is_told = false;  // by its user; else from its limit and past runs of its owner
        GpuMilli gpus;
        std::int32_t gpu_exponent_percent = 0;
        Duration halved_every;  // by waiting this long
    };
    std::optional<RunTime> run_time;
    std::vector<ObjectKey> ahead;  // jobs before it in its queue, in order: the first of them
    std::int64_t ahead_count = 0;
    std::string tenant;
    std::int64_t tenant_share = 0;  // in that queue
    std::int64_t tenant_lately = 0;
    std::int64_t tenant_weight = 1;
    GpuMilli tenant_held;     // of the pool
    GpuMilli tenant_leaving;  // of tenant_held
    std::optional<GpuMilli> tenant_quota;
};
// Absent: the job does not wait for its turn in a queue.
std::optional<TurnView> turn_of(const ClusterState& state, const ObjectKey& job);

// Could this job ever start? Codes: PoolNotFound, PoolEmpty, QueueNotFound, NeverFits (with what
// the largest node offers), QuotaExceeded (more than the maximum of its namespace or queue).
std::optional<Refusal> preflight(const ClusterState& state, const JobSpec& spec);

}  // namespace gpuctl
