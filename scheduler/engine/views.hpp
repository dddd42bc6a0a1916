#pragma once
// What other modules may read of the engine: plain values, made on request on the loop thread.
// Lists are ordered by name, so that paging is stable.

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
    BindState bind_state = BindState::foreign;
    std::string node;                     // bound or assumed; empty while waiting
    std::int32_t gpu_device = kNoDevice;  // device on that node, for a fraction of a GPU
};

struct RoleView {
    RoleMinimum minimum;
    std::int64_t ranks = 0;  // ranks that hold a node or succeeded
};

// The status is that of Kubernetes: Pending, Running, Succeeded, Failed, Terminating, and
// "Partially Running" for a service with some replicas running.
struct JobView {
    ObjectKey key;
    std::optional<JobKind> kind;  // absent: the pods of a Kubernetes user
    std::string status;
    bool never_made = false;  // the cluster refused it permanently: its name is free
    std::string queue;        // empty: system-critical pods are in no queue
    std::string pool;
    std::int32_t priority = 0;
    Instant submitted_at;
    Instant started_at;  // start of its present run, or otherwise of its last run
    Instant finished_at;
    bool gang = false;
    std::int32_t ranks_min = 0;
    std::int32_t ranks_max = 0;   // of an elastic job; otherwise 0
    std::vector<Fact> size;       // why a running elastic job is not larger
    std::vector<RoleView> roles;  // roles of a gang, by name
    GpuMilli gpus_per_pod;
    std::int64_t pods_wanted = 0;
    std::int64_t pods_running = 0;
    std::optional<StartEstimate> start;  // while it waits, if known
    std::int64_t position = 0;  // 1-based among the waiting jobs of its queue; 0: not waiting
    std::vector<PodView> pods;  // ordered by rank, then name
    std::optional<Explanation> waiting;  // present while one of its pods waits
    const JobRecord* record = nullptr;   // only of a submitted job; valid until the next step()
    std::uint64_t revision = 0;  // number of its changes by users, from 1: the state that was read
    bool paused = false;
    bool releases = false;   // paused, and keeps no GPUs
    std::int64_t seats = 0;  // pods for which it keeps room
    GpuMilli gpus_kept;      // on `seat_nodes`
    std::vector<std::string> seat_nodes;
    std::int64_t seats_lost = 0;  // with their nodes
    // For a finished job: everything that is kept (docs/adr/0030), without `pods` and `record`.
    // Valid until the next step().
    const FinishedJob* summary = nullptr;
};

struct NodeView {
    NodeFacts facts;
    Resources used;  // by every pod on the node, including foreign pods and binds in flight
    // Requests beyond what the node offers: other schedulers and static pods may exceed its
    // capacity, and a node may return with less capacity. Our decisions never exceed it.
    Resources excess;
    GpuMilli gpus_nominated;  // nominated for jobs that pods are evicted for; not in use yet
    std::vector<PodView> pods;
    // The current window of the node, or otherwise the next one.
    struct Maintenance {
        std::string name;
        Instant begin;
        Instant end;
        bool has_begun = false;
        bool is_reservation = false;    // a reservation: some jobs may use it
        std::int64_t pods_to_stay = 0;  // pods of ours that the window does not evict
    };
    std::optional<Maintenance> maintenance;
    bool takes_work = true;  // it accepts ordinary work now
    GpuStates gpus;
};

// The used GPU time of a budget in the current period.
struct BudgetView {
    std::string tenant;  // empty: the budget of a queue
    BudgetPolicy policy;
    Period period;
    GpuTime carried;  // from the previous period; negative: overdrawn
    GpuTime used;
    GpuTime committed;  // committed to running pods
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
    bool is_declared = true;  // false: jobs name it, and the policy does not have it
    QueueOrder order = QueueOrder::fair_share;
    GpuMilli guaranteed;               // at least the sum of its sub-queues
    bool is_beyond_guarantee = false;  // its demand is larger, so no guarantee holds now
    std::optional<GpuMilli> maximum;
    std::optional<GpuMilli> borrowing_limit;
    GpuMilli not_lent;  // reserved part of its guarantee, even while idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    std::optional<BudgetView> budget;
    // The following members include every queue below it.
    GpuMilli held;           // by bound pods and binds in flight
    GpuMilli nominated;      // in addition, nominated for jobs that pods are evicted for
    GpuMilli entitled;       // its fair share of the pool, by its usage and demand
    std::int64_t share = 0;  // dominant share, held and used, in parts per billion of the pool
    Load used;               // the decayed mean of its usage
    std::int64_t jobs_waiting = 0;
    std::int64_t jobs_running = 0;
    GpuMilli gpus_waiting;  // requested by the waiting pods
};

struct PoolView {
    std::string name;
    std::string description;
    QueueOrder order = QueueOrder::fair_share;  // order of its direct sub-queues
    std::vector<std::string> nodes;
    GpuMilli gpus_total;
    GpuMilli gpus_used;
    // GPUs that are neither used nor nominated, on nodes that accept work, including rests of GPUs
    // in partial use.
    GpuMilli gpus_free;
    GpuMilli gpus_free_largest_on_a_node;  // whole GPUs only
    GpuStates gpus;
    GpuMilli gpus_excess;                            // sum of NodeView::excess
    std::int64_t nodes_excess = 0;                   // nodes with an excess of any resource
    std::int64_t nodes_closed = 0;                   // nodes in maintenance, or reported unhealthy
    std::map<std::string, std::int64_t> gpu_models;  // model -> whole GPUs
    std::vector<QueueView> queues;
    std::vector<BudgetView> budgets;  // of namespaces, by name
    GpuMilli reserve;                 // for work that grows with demand
    GpuMilli guarantees_uncovered;    // guarantees beyond the capacity outside of the reserve
};

struct JobFilter {
    std::optional<std::string> namespace_name;
    std::optional<std::string> pool;
    std::optional<JobKind> kind;
    bool made_elsewhere = false;        // only pods of Kubernetes users, which have no kind
    std::optional<std::string> status;  // compared without case
};

std::vector<JobView> list_jobs(const ClusterState& state, const JobFilter& filter);
// Finds a job by its name, unique name ("gang:train", "gpuctl:train") or the name of a pod.
// `namespace_name` empty: in every namespace. Errors: JobNotFound, JobAmbiguous (Error::details has
// the matches).
Result<JobView> find_job(const ClusterState& state, std::string_view namespace_name,
                         std::string_view name);
// Finds a job in an index: the cost does not depend on the number of jobs. The start estimate is
// that of lists.
Result<JobView> find_job(Listing& listing, std::string_view namespace_name, std::string_view name);
std::vector<NodeView> list_nodes(const ClusterState& state);
std::optional<NodeView> find_node(const ClusterState& state, std::string_view name);
std::vector<PoolView> list_pools(const ClusterState& state);
std::vector<PoolView> list_pools(Listing& listing);
std::vector<QueueView> list_queues(const ClusterState& state);
std::vector<QueueView> list_queues(const Listing& listing);

// Everything that keeps the job from starting, the first blocker first, computed for the present
// state. Empty: nothing blocks the job.
std::vector<Explanation> explain_job(const ClusterState& state, const ObjectKey& job);
// The planner's blockers among these, for one job. `ready` is the result of read_readiness() now.
std::vector<Explanation> reasons_to_wait(const ClusterState& state, JobId job,
                                         const Readiness& ready);

// Every term of docs/adr/0011-queue-tree.md that decides when a waiting job is tried.
struct TurnView {
    struct Level {
        std::string queue;
        QueueOrder order = QueueOrder::fair_share;  // order of the queue's parent
        std::int32_t priority = 0;
        GpuMilli guaranteed;
        GpuMilli held;
        GpuMilli terminating;    // part of `held` by terminating pods, which the order excludes
        std::int64_t share = 0;  // parts per billion of the pool, held and used
        std::int64_t recent_usage =
            0;  // share in the current tick, which breaks ties of equal shares
        std::int64_t weight = 1;
        bool is_beyond_guarantee = false;  // its demand is larger, so no guarantee holds now
    };
    std::vector<Level> levels;                  // from the pool down to the job's queue
    QueueOrder order = QueueOrder::fair_share;  // order of the jobs in that queue
    std::int64_t priority = 0;                  // as submitted
    std::int64_t priority_by_waiting = 0;
    Duration waited;
    Instant due_at;  // if the pool orders by due times; otherwise never
    // the allowed slowdown is multiplied by this, because the job cannot meet a sooner due time
    std::int64_t due_times = 1;
    // the job has to begin by then, or it would run alone, if the pool avoids that; otherwise never
    Instant begin_by;
    // If the pool has a target for waiting times: the span in which the job precedes other jobs;
    // otherwise never.
    Instant sooner_from;
    Instant sooner_until;
    // With the order SHORTEST: the run time that it is ordered by, and its source.
    struct RunTime {
        Duration time;  // run time, or remaining run time
        // false: no statement, limit or past run says anything, and `time` is what the order
        // assumes
        bool is_known = true;
        // `time` is the remaining run time; it is multiplied by GPUs to a power (docs/adr/0018)
        bool is_left = false;
        // the user has stated it; otherwise it is derived from its limit and past runs of its owner
        bool is_declared = false;
        GpuMilli gpus;
        std::int32_t gpu_exponent_percent = 0;
        Duration halved_every;  // waiting time that halves the cost
    };
    std::optional<RunTime> run_time;
    std::vector<ObjectKey> ahead;  // the first of the jobs before it in its queue, in order
    std::int64_t ahead_count = 0;
    std::string tenant;
    std::int64_t tenant_share = 0;  // in the job's queue
    std::int64_t tenant_recent_usage = 0;
    std::int64_t tenant_weight = 1;
    GpuMilli tenant_held;         // in the pool
    GpuMilli tenant_terminating;  // part of tenant_held by terminating pods
    std::optional<GpuMilli> tenant_quota;
};
// Absent: the job does not wait for its turn in a queue.
std::optional<TurnView> turn_of(const ClusterState& state, const ObjectKey& job);

// Could this job ever start? Codes: PoolNotFound, PoolEmpty, QueueNotFound, NeverFits (with what
// the largest node offers), QuotaExceeded (more than the maximum of its namespace or queue).
std::optional<Refusal> preflight(const ClusterState& state, const JobSpec& spec);

}  // namespace gpuctl
