#pragma once
// The rows of ClusterState's tables. Plain data: who may change them is ClusterState's business.

#include <algorithm>
#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/policy.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/model/workload.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/queue/usage.hpp"
#include "scheduler/state/churn.hpp"
#include "scheduler/state/elastic_row.hpp"
#include "scheduler/state/eviction_request.hpp"
#include "scheduler/state/finished_job.hpp"
#include "scheduler/state/finished_ranks.hpp"
#include "scheduler/state/limit_hit.hpp"

namespace gpuctl {

// What the engine itself holds about a pod. A pod counts on a node (and, when it is ours, in its
// queue and tenant) in `assumed`, `bound`, and in `foreign` with a node.
//
//                 observed without a node
//        (new) ──────────────────────────────> waiting <─────────────┐
//          │                                     │                   │ not bound for sure:
//          │ not ours                     placed │ (BindPod)         │ outcome failed, refused,
//          v                                     v                   │ elsewhere, gone; gang
//       foreign                               assumed ───────────────┘ given up
//          │                                     │
//          │ terminal            outcome `bound` │ or observed with a node (which wins)
//          v                                     v
//        done <──────────────────────────────  bound
//                   observed terminal
//
// Removal ends every state. Terminating pods stay where they are: they hold until gone (S34).
//
// A waiting pod that others are stopped for is `claimed` meanwhile: it counts on its node and in
// its queue, so that nobody else takes what they leave, and goes back to waiting, mostly to be
// assumed there in the same breath (claims.cpp).
enum class PodStanding : std::uint8_t { foreign, waiting, assumed, bound, done, claimed };

// A bound pod that is to make room for another job.
//
//   none ──EvictPod──> asked ──accepted──> accepted ──> stops, and is gone
//    ^                 │   ^
//    │ refused         │   │ the backoff of its beneficiary is over
//    │<────────────────┤   │
//    │ the claim fell  v   │
//    └──────────────── postponed     a disruption budget, or an error
enum class Eviction : std::uint8_t { none, asked, postponed, accepted };

// Why a waiting pod of ours is left alone although it could be placed.
enum class PodBar : std::uint8_t {
    none,
    elsewhere,  // the API server has it on another node: the watch will say which
    gone,       // the API server does not know this incarnation any more
    refused     // the API server would not have it bound; lifted after a pause, or when it changes
};

// What there is to know of a pod that holds something and may be stopped for others: each queue has
// them in a row, so that the cheapest of a hundred thousand is found by running through them.
struct StoppablePod {
    PodId pod;
    NodeId node;
    std::int32_t priority = 0;  // its job's
    bool is_gang = false;
    bool for_priority_only = false;  // its user does not say that it may be stopped
    GpuMilli gpus;
    Instant started_at;
    Duration checkpoint_interval;
    Duration restart_cost;
    friend bool operator==(const StoppablePod&, const StoppablePod&) = default;
};

// A pod that could not be evicted although it was asked as long as a claim lasts is left in peace
// so long. Were it asked again at once, those that could be would be stopped for nothing over and
// over.
inline constexpr Duration kSparedFor = Duration::seconds(3600);

// After the grace of a pod that leaves.
inline constexpr Duration kLateToLeave = Duration::seconds(60);

struct PodRow {
    static constexpr std::uint32_t kNotListed = UINT32_MAX;
    PodStanding standing = PodStanding::waiting;
    PodBar bar = PodBar::none;
    bool in_flight = false;         // a BindPod without outcome
    bool delete_in_flight = false;  // a DeletePod without outcome
    bool start_reported = true;     // false from being placed until ReportStarted
    Eviction eviction = Eviction::none;
    EffectId evict_effect{};
    ObjectKey evicted_for;  // the beneficiary
    EvictionRequest eviction_request;
    std::vector<Instant> evicted_at;  // pods before it in its place (churn.cpp)
    Instant spared_until;             // its eviction was refused: not asked again before
    Instant barred_until;             // its bind was refused: not asked again before
    NodeId node;                      // held on, none while waiting or done
    ShapeId shape;
    JobId job;  // none for foreign pods
    EffectId effect{};
    Instant bind_deadline;  // of the BindPod sent last
    Instant unsure_until;   // a bind of an earlier term that was never answered may land until then
    Instant placed_at;
    Instant seen_at;             // first
    Instant leaves_at;           // it is terminating: when its grace is over; never: it is not
    std::uint64_t reported = 0;  // fingerprint of the explanation it was last told of
    Instant ends_at;      // while it holds: by its limit, or when it leaves; never: nobody knows
    std::string message;  // of the last unhappy outcome
    PodFacts facts;
    std::int32_t gpu_device = kNoDevice;      // while it holds a part of a GPU
    bool grows_with_demand = false;           // while it holds: so it may use its pool's reserve
    bool is_surplus = false;                  // a rank that its elastic job is to have no more
    std::uint32_t stoppable_at = kNotListed;  // its place in its queue's `stoppable`

    // On its way out, and who is still being asked to let it go.
    [[nodiscard]] bool is_leaving() const {
        return facts.terminating || is_surplus || eviction == Eviction::accepted ||
               eviction == Eviction::asked;
    }
    // Its grace was over long ago: a finalizer, or a container that nobody can stop. When it will
    // be gone is not known: nothing is promised of it, and nobody is stopped to fill up with it.
    [[nodiscard]] bool is_stuck(Instant now) const {
        return leaves_at.happened() && leaves_at + kLateToLeave <= now;
    }
};

enum class WorkloadState : std::uint8_t {
    none,      // pods of a Kubernetes user, no record
    creating,  // until the first happy outcome
    created,
    failed,   // could not be created, for good
    deleting  // asked for by the user; record and pods go away
};

// Orders jobs by their arrival. Ids are other ones after a restart: what is decided in their order
// is decided otherwise then (I12).
using Arrived = std::pair<std::uint64_t, JobId>;

// What was allowed is doubled so often until the job could keep to it, and that may be once more
// from a moment on (docs/adr/0018).
struct Lateness {
    std::int32_t doublings = 0;
    Instant again_at;  // while it waits; else never
    friend auto operator<=>(const Lateness&, const Lateness&) = default;
};
BOOST_DESCRIBE_STRUCT(Lateness, (), (doublings, again_at))

struct JobRow {
    bool live = false;
    ObjectKey key;
    TenantId tenant;
    std::uint64_t arrival = 0;  // order of first sight, the last tie-break
    Instant submitted_at;
    std::string pool_wanted;   // never empty
    std::string queue_wanted;  // empty: policy decides
    std::int32_t priority = 0;
    PoolId pool;    // none: unknown
    QueueId queue;  // none: unknown
    std::vector<PodId> pods;

    Boxed<JobRecord> record;
    WorkloadState workload = WorkloadState::none;
    bool workload_due = false;        // an effect must be sent when we may
    bool workload_in_flight = false;  // sent, without outcome
    bool force_delete = false;
    EffectId workload_effect{};
    std::int32_t workload_failures = 0;
    Instant workload_not_before;
    Instant create_deadline;     // of a creation without answer; else never
    Instant create_lands_until;  // one given up for lost may still be carried out until then
    std::string message;         // of the last unhappy workload outcome
    Boxed<WorkloadFacts> workload_facts;  // once the watch showed its object

    std::int32_t gang_attempt = 0;
    bool gang_started = false;  // all its ranks were bound, and some have been since
    Instant short_since;        // it ran as a whole, lacks ranks and waits for them since; or never
    bool is_stranded = false;   // for too long (stranded.cpp)
    bool nears_wait_target = false;  // wait_target.hpp
    Lateness lateness;               // when it waited last; where pools go by when work is due
    FinishedRanks finished;          // whose pods are gone
    Instant gang_deadline;           // of the open round or of being half bound; else never
    bool member_refused = false;     // in the open round
    bool is_rolling_back = false;  // none of its pods has gone for it yet; a figure, not in images
    Instant refusal_ends_at;  // the first of its pods' `barred_until`; never: nobody is refused
    std::int32_t bind_failures = 0;
    Instant not_before;
    std::uint64_t reported = 0;  // fingerprint of the explanation last reported
    Reason reported_reason = Reason::none;
    Instant started_at;  // of its run, as far as pods tell that run no more (present_run.hpp)
    Instant earlier_runs_until;  // what began no later was of a run that is over
    Instant finished_at;
    PodPhase last_phase = PodPhase::pending;  // of the last pod that went terminal
    std::int64_t pods_open = 0;               // of `pods`: those that have not ended
    Instant ended_at;                         // all of it is over (finished_job.hpp); or never
    Boxed<FinishedJob> past;                  // it had been summarized and came back

    Duration run_time_max;       // 0: no limit
    Duration run_time_expected;  // by its user; 0: not said
    bool is_long = false;        // predicted so when it was last placed

    // Room that others are being stopped for: held by its claimed pods until all of it is free.
    Instant claim_until;                 // then it is given up; never: no claim
    std::int64_t claim_pods = 0;         // claimed together; fewer are worth nothing
    std::vector<std::string> victims;    // uids
    bool victim_refused = false;         // one of them may not go: the claim is worth nothing
    std::int32_t eviction_failures = 0;  // in a row
    Instant evict_again_at;              // the postponed ones

    ElasticRow elastic;

    std::int64_t pods_held = 0;  // charged to its queue and tenant
    GpuMilli gpus_held;          // by them
    GpuMilli gpus_waiting;       // what it asks for, while it is in its queue

    ClassId waits_in;  // its class in the queue book, or none
    Instant timer_at;  // its entry in the timer set, or never
    bool is_dirty = false;
};

// An elastic job that says how fast it is by size: what it has done is time with its fewest ranks.
inline bool is_paced(const JobRow& job) {
    return job.elastic.size > 0 && !job.record->spec.speeds.empty();
}

struct NodeRow {
    bool live = false;   // the slot is in use
    bool known = false;  // observed; else only pods speak of it
    NodeFacts facts;     // only the name when not known
    PoolId pool;
    WindowSet windows = 0;  // that it is in
    std::vector<PodId> pods;
};

// The first in line of a pool starts by `at`, if everything runs to its limit.
struct Promise {
    JobId job;
    Instant at;  // never: no moment can be told, what comes free on its nodes is kept for it
    friend bool operator==(const Promise&, const Promise&) = default;
};

// Of a GPU model that some queue of the pool keeps back.
struct ModelRoom {
    std::string model;
    GpuMilli offered;  // by the pool's known nodes
    GpuMilli held;     // by its queues
    friend bool operator==(const ModelRoom&, const ModelRoom&) = default;
};

struct PoolRow {
    std::string name;
    std::int64_t nodes = 0;  // known ones
    bool in_policy = false;
    std::string description;
    BackfillPolicy backfill;
    PreemptionPolicy preemption;
    Promise promise;  // to the first in line, while there is one
    // For whom what is left under limits is kept, which stop them; `at` is when it will be enough.
    std::vector<Promise> limits_kept;
    Instant limits_told_at;        // since then news of it were told so often: two heads that put
    std::int32_t limits_told = 0;  // each other first would be told of for ever
    // Nobody who comes later may take what it waits for, room or what a limit leaves.
    [[nodiscard]] bool keeps_for(JobId job) const {
        const auto is_it = [job](const Promise& one) { return one.job == job; };
        return promise.job == job || std::any_of(limits_kept.begin(), limits_kept.end(), is_it);
    }
    std::uint64_t promises = 1;  // moves with every change of these
    std::uint64_t gains = 1;     // moves when something here may now fit that did not
    std::uint64_t changes = 1;   // moves with every change of what is free
    std::uint64_t victims = 1;   // moves when more could be taken back from a queue of it
    std::uint64_t leaving = 1;   // moves when a pod on its nodes gets on its way out, or stays
    std::int64_t stoppable_without_gpus = 0;  // pods of its queues
    std::vector<QueueId> queues;              // of the policy, by name, "default" among them
    std::vector<QueueId> roots;               // those directly below it, by name
    QueueOrder order = QueueOrder::fair_share;
    Load offered;                        // by its known nodes: what shares are shares of
    bool shares_stale = false;           // `offered` changed since they were computed
    GpuMilli held;                       // by its queues
    GpuMilli kept;                       // with what they keep back
    std::vector<ModelRoom> models_kept;  // by the policy, in the order of its queues
    // Null: no queue of it keeps any of the model back.
    ModelRoom* kept_of(std::string_view model) {
        const auto found = std::find_if(models_kept.begin(), models_kept.end(), [&](auto& room) {
            return same_gpu_model(room.model, model);
        });
        return found == models_kept.end() ? nullptr : &*found;
    }
    GpuMilli held_by_growing;  // of `held`: by what may use the reserve
    std::int32_t reserve_percent = 0;
    GpuMilli reserve_gpus;
    std::vector<GpuMilli> held_by_tenant;  // by TenantId

    // Whole GPUs, rounded down; never more than there are.
    [[nodiscard]] GpuMilli reserve() const {
        const GpuMilli part{offered.gpus.value() / 100 * reserve_percent};
        return std::min(std::max(whole_gpus(whole_gpus_floor(part)), reserve_gpus), offered.gpus);
    }
};

// What somebody holds and held, and their dominant share of the pool for it.
struct Account {
    Load held;
    Usage usage;
    std::int64_t share = -1;  // as of the last refresh_shares(); negative: changed since
};

// A queue's limits for one GPU model, and what it holds of it with every queue below.
struct ModelHolding {
    ModelLimit limit;
    GpuMilli held;
    GpuMilli claimed;  // of `held`: of what still leaves
    GpuMilli keeps;    // of its guarantee, not lent while it is idle
};

struct QueueRow {
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
    GpuMilli keeps;  // of its guarantee, not lent while it is idle
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
    std::vector<ModelHolding> models;
    // Charged to it by name: what its own jobs hold, and how many jobs those are.
    Load direct;
    GpuMilli claimed;  // of `direct`: what others are still being stopped for
    GpuMilli waiting;  // what its own jobs in line ask for
    std::int64_t jobs_direct = 0;
    // The same with every queue below it.
    Account account;
    std::int64_t jobs_held = 0;
    GpuMilli kept_below;             // what its children keep
    std::vector<Account> by_tenant;  // of `direct`, by TenantId
    std::uint64_t shrinks = 1;
    // Pods of its jobs that hold something and may be stopped for others, by priority; a priority
    // once seen stays, with zero.
    std::map<std::int32_t, std::int64_t> preemptible;
    std::vector<StoppablePod> stoppable;  // the same pods, in no order
    std::int64_t stoppable_without_gpus =
        0;                      // of them, for whatever reason; their pool has the sum
    std::uint64_t victims = 1;  // moves when one more of them could be stopped
    Instant look_again_at;      // somebody is protected until then; or never
    // It wants more than it is guaranteed, where guarantees hold for those only that do not: as of
    // the last Plan (demand.cpp).
    bool is_beyond_guarantee = false;

    // What nobody may take from it, and what it may take back.
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
    // What nobody else can have: held by it, or kept back for it, or for what is below it; and the
    // same if what its children keep, or its own jobs hold, were `more`.
    [[nodiscard]] GpuMilli kept_with(GpuMilli more) const {
        return std::max(keeps, kept_below + direct.gpus + more);
    }
    [[nodiscard]] GpuMilli kept() const { return kept_with(GpuMilli{}); }
};

struct TenantRow {
    std::string name;
    std::int64_t weight = 1;
    std::optional<GpuMilli> gpu_maximum;
    std::optional<CpuMilli> cpu_maximum;
    std::optional<Bytes> memory_maximum;
    std::string queue;
    std::vector<std::pair<PoolId, GpuMilli>> pool_quotas;
    GpuMilli gpus_held;
    CpuMilli cpu_held;
    Bytes memory_held;
    std::uint64_t shrinks = 1;
    std::uint64_t leaving = 1;  // moves when pods of it begin to leave, or stay after all
    // Of all pools together.
    [[nodiscard]] bool has_quota() const { return gpu_maximum || cpu_maximum || memory_maximum; }
    [[nodiscard]] bool has_limits() const { return has_quota() || !pool_quotas.empty(); }
};

}  // namespace gpuctl
