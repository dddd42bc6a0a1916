#pragma once
// The state as plain values: facts and decisions in a canonical order, without what can be rebuilt
// from them. Snapshots contain it, and the state hash is computed from it.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/policy_object.hpp"
#include "scheduler/model/signal.hpp"
#include "scheduler/state/jobs/finished_jobs.hpp"
#include "scheduler/state/maintenance/calendar.hpp"
#include "scheduler/state/node_changes/open_change.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/run_times/run_time_history.hpp"

namespace gpuctl {

// Enumerations of rows, by name in the layouts of files. The last but one is `nominated`.
inline std::vector<std::string_view> archive_enumerators(BindState) {
    return {"foreign", "waiting", "assumed", "bound", "done", "claimed", "seat"};
}
BOOST_DESCRIBE_ENUM(EvictionState, none, asked, postponed, accepted)
BOOST_DESCRIBE_ENUM(PodBar, none, elsewhere, gone, refused)
BOOST_DESCRIBE_ENUM(WorkloadState, none, creating, created, failed, deleting)

struct NodeImage {
    std::uint32_t slot = 0;  // decides between equally good nodes, so it is part of the state
    bool known = false;
    NodeFacts facts;
};
BOOST_DESCRIBE_STRUCT(NodeImage, (), (slot, known, facts))

struct PodImage {
    PodFacts facts;
    BindState standing{};
    PodBar bar{};
    bool in_flight = false;
    bool delete_in_flight = false;
    bool start_reported = false;
    EvictionState eviction{};
    EffectId evict_effect{};
    ObjectKey evicted_for;
    EvictionRequest eviction_request;
    std::vector<Instant> evicted_at;
    Instant spared_until;
    Instant barred_until;
    std::string node;
    EffectId effect{};
    Instant bind_deadline;
    Instant unsure_until;
    Instant placed_at;
    Instant seen_at;
    Instant leaves_at;
    std::uint64_t reported = 0;
    std::string message;
    std::int32_t gpu_device = kNoDevice;
    bool grows_with_demand = false;
};
BOOST_DESCRIBE_STRUCT(PodImage, (),
                      (facts, standing, bar, in_flight, delete_in_flight, start_reported, eviction,
                       evict_effect, evicted_for, eviction_request, evicted_at, spared_until,
                       barred_until, node, effect, bind_deadline, unsure_until, placed_at, seen_at,
                       leaves_at, reported, message, gpu_device, grows_with_demand))

struct JobImage {
    ObjectKey key;
    std::uint64_t arrival = 0;
    Instant submitted_at;
    std::string pool_wanted;
    std::string queue_wanted;
    std::int32_t priority = 0;
    Boxed<JobRecord> record;
    WorkloadState workload{};
    bool workload_due = false;
    bool workload_in_flight = false;
    bool force_delete = false;
    EffectId workload_effect{};
    std::int32_t workload_failures = 0;
    Instant workload_not_before;
    Instant create_deadline;
    Instant create_lands_until;
    std::string message;
    Boxed<WorkloadFacts> workload_facts;
    std::int32_t gang_attempt = 0;
    bool gang_started = false;
    Instant short_since;
    bool is_stranded = false;
    bool nears_wait_target = false;
    Lateness lateness;
    FinishedRanks finished;
    Instant gang_deadline;
    bool member_refused = false;
    std::int32_t bind_failures = 0;
    Instant not_before;
    std::uint64_t reported = 0;
    Reason reported_reason{};
    Instant started_at;
    Instant earlier_runs_until;
    Instant finished_at;
    PodPhase last_phase{};
    Instant claim_until;
    std::int64_t claim_pods = 0;
    std::vector<std::string> victims;
    bool victim_refused = false;
    std::int32_t eviction_failures = 0;
    Instant evict_again_at;
    ElasticRow elastic;
    Instant timer_at;
    bool is_long = false;
    bool is_dirty = false;
    bool is_queued = false;
    // Of its class: the reason of the refusal, and whether it is still valid.
    Reason block_reason{};
    std::uint16_t block_watch = 0;
    bool is_limited = false;
    std::uint16_t block_limits = 0;
    std::optional<ObjectKey> behind;
    bool is_blocked = false;
};
BOOST_DESCRIBE_STRUCT(JobImage, (),
                      (key, arrival, submitted_at, pool_wanted, queue_wanted, priority, record,
                       workload, workload_due, workload_in_flight, force_delete, workload_effect,
                       workload_failures, workload_not_before, create_deadline, create_lands_until,
                       message, workload_facts, gang_attempt, gang_started, short_since,
                       is_stranded, nears_wait_target, lateness, finished, gang_deadline,
                       member_refused, bind_failures, not_before, reported, reported_reason,
                       started_at, earlier_runs_until, finished_at, last_phase, claim_until,
                       claim_pods, victims, victim_refused, eviction_failures, evict_again_at,
                       elastic, timer_at, is_long, is_dirty, is_queued, block_reason, block_watch,
                       is_limited, block_limits, behind, is_blocked))

// Of a job in `jobs` that has ended, or that returned from a summary.
struct EndedJobImage {
    ObjectKey key;
    Instant ended_at;
    Boxed<FinishedJob> past;
};
BOOST_DESCRIBE_STRUCT(EndedJobImage, (), (key, ended_at, past))

struct HeadReservationImage {
    std::string pool;
    ObjectKey job;
    Instant at;
};
BOOST_DESCRIBE_STRUCT(HeadReservationImage, (), (pool, job, at))

// Usage of a queue, or of a tenant in it: the mean, and the current tick up to `now`.
struct UsageImage {
    std::string pool;
    std::string queue;
    std::string tenant;  // empty: the queue's own
    UsageAmounts mean{};
    UsageAmounts sum{};
};
BOOST_DESCRIBE_STRUCT(UsageImage, (), (pool, queue, tenant, mean, sum))

// What was used of a budget in the current period, up to `now`.
struct BudgetImage {
    std::string pool;
    std::string queue;
    std::string tenant;  // empty: the queue's
    Instant period_begin;
    GpuTime used;
    GpuTime carried;
    Instant look_again_at;
};
BOOST_DESCRIBE_STRUCT(BudgetImage, (),
                      (pool, queue, tenant, period_begin, used, carried, look_again_at))

struct StateImage {
    std::uint32_t version = 1;
    Instant now;
    bool leading = false;
    bool synced = false;
    bool idle = true;
    bool unfinished = false;
    bool resend_due = false;
    Epoch epoch{};
    std::uint64_t next_effect = 1;
    std::uint64_t next_arrival = 1;
    Instant wake_requested;
    Policy policy;
    // By id, including names that no node, job or policy has any more: some decisions depend on
    // whether there are several pools.
    std::vector<std::string> pools;
    std::map<ObjectKey, GangSize> gang_sizes;
    std::map<ObjectKey, GangNote> gang_notes;
    std::map<std::string, std::string> device_classes;
    std::map<ObjectKey, Churn> churn;
    std::map<ObjectKey, FinishedRanks> finished;
    std::map<std::pair<std::string, std::string>, Instant> look_again;  // by pool and queue
    std::vector<std::pair<std::string, std::string>> beyond_guarantee;  // likewise, sorted
    std::vector<NodeImage> nodes;                                       // by slot
    std::vector<PodImage> pods;                                         // by uid
    std::vector<JobImage> jobs;                                         // by key
    std::vector<UsageImage> usage;               // by name, those that used something
    std::vector<OwnerRuns> run_times;            // by owner
    std::vector<HeadReservationImage> promises;  // by pool
    std::vector<HeadReservationImage> limits_kept;
    CalendarClock calendar;
    std::vector<BudgetImage> budgets;       // by name
    std::vector<EndedJobImage> ended_jobs;  // by key
    std::vector<FinishedJob>
        finished_jobs;  // by key; the summaries of those that are not in `jobs`
    std::map<std::string, RemovedJobs> removed_jobs;
    std::pair<Instant, ObjectKey> removed_until;
    std::vector<JobSignal> signals;              // by job and kind
    std::map<ObjectKey, ChangeRow> job_changes;  // of jobs that were changed
    std::map<ObjectKey, PauseRow> pauses;        // of jobs that are paused, or keep room
    std::vector<PolicyObject> policy_objects;    // by key
    std::vector<OpenNodeChange> node_changes;    // in the order of their requests
};
BOOST_DESCRIBE_STRUCT(StateImage, (),
                      (version, now, leading, synced, idle, unfinished, resend_due, epoch,
                       next_effect, next_arrival, wake_requested, policy, pools, gang_sizes,
                       gang_notes, device_classes, churn, finished, look_again, beyond_guarantee,
                       nodes, pods, jobs, usage, run_times, promises, limits_kept, calendar,
                       budgets, ended_jobs, finished_jobs, removed_jobs, removed_until, signals,
                       job_changes, pauses, policy_objects, node_changes))

}  // namespace gpuctl
