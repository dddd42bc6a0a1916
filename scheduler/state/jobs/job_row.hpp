#pragma once
// What the engine holds about a job: who it is, and one small row for each of its state machines.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/job/workload.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/state/elastic/elastic_row.hpp"
#include "scheduler/state/jobs/finished_job.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"

namespace gpuctl {

// The Kubernetes object of a submitted job.
//
//   none          creating ──created──> created ──deletion asked for──> deleting ──> row is gone
//   (pods of a       │                                                     ^
//   user's own)      └──refused for good──> failed ────────────────────────┘
enum class WorkloadState : std::uint8_t {
    none,      // pods of a Kubernetes user, no record
    creating,  // until the first success
    created,
    failed,   // could not be created, for good
    deleting  // asked for by the user; record and pods go away
};

struct WorkloadRow {
    WorkloadState state = WorkloadState::none;
    bool due = false;        // an effect must be sent when we may
    bool in_flight = false;  // sent, without outcome
    bool force_delete = false;
    EffectId effect{};
    std::int32_t failures = 0;
    Instant not_before;
    Instant create_deadline;     // of a creation without answer; else never
    Instant create_lands_until;  // a creation given up may still be carried out until then
    std::string message;         // of the last outcome that was not a success
    Boxed<WorkloadFacts> facts;  // once the watch showed its object
};

// The ranks of a gang as a whole (rounds.cpp, stranded.cpp).
struct GangRow {
    std::int32_t attempt = 0;
    bool started = false;          // all its ranks were bound, and some have been since
    Instant short_since;           // it ran as a whole and lacks ranks since; or never
    bool is_stranded = false;      // for longer than the policy allows
    FinishedRanks finished;        // whose pods are gone
    Instant deadline;              // of the open round or of being half bound; else never
    bool member_refused = false;   // in the open round
    bool is_rolling_back = false;  // none of its pods is gone for it yet; a figure, not in images
};

// Binds that failed or were refused.
struct BindingRow {
    std::int32_t failures = 0;
    Instant not_before;
    Instant refusal_ends_at;  // the first of its pods' `barred_until`; never: none is refused
};

// Room that pods are evicted for: held by the job's nominated pods until all of it is free.
struct NominationRow {
    Instant until;                       // then it is given up; never: no nomination
    std::int64_t pods = 0;               // nominated together; fewer are worth nothing
    std::vector<std::string> victims;    // uids
    bool victim_refused = false;         // one of them may not go: the nomination is worth nothing
    std::int32_t eviction_failures = 0;  // in a row
    Instant evict_again_at;              // the postponed ones
};

// What was allowed is doubled this often until the job could keep to it, and that may be once more
// from a time on (docs/adr/0018).
struct Lateness {
    std::int32_t doublings = 0;
    Instant again_at;  // while it waits; else never
    friend auto operator<=>(const Lateness&, const Lateness&) = default;
};
BOOST_DESCRIBE_STRUCT(Lateness, (), (doublings, again_at))

// Its run: when it began and ended, how long it may and will take.
struct RunRow {
    Instant started_at;          // as far as its pods do not tell any more (present_run.hpp)
    Instant earlier_runs_until;  // what began no later was of a run that is over
    Instant finished_at;
    PodPhase last_phase = PodPhase::pending;  // of the last pod that went terminal
    std::int64_t pods_open = 0;               // of the job's pods: those that have not ended
    Duration time_max;                        // 0: no limit
    Duration time_expected;                   // by its user; 0: unknown
    bool is_long = false;                     // predicted so when it was last placed
    bool nears_wait_target = false;           // wait_target.hpp
    Lateness lateness;  // when it waited last; where pools go by when work is due
};

// A job that has ended (retention.hpp).
struct RetentionRow {
    Instant ended_at;         // all of it is over (finished_job.hpp); or never
    Boxed<FinishedJob> past;  // it had been summarized and came back
};

// What is charged to its queue and namespace.
struct HoldingRow {
    std::int64_t pods = 0;
    GpuMilli gpus;
};

// Its place in the queue book.
struct WaitingRow {
    ClassId in_class;  // or none
    GpuMilli gpus;     // what it asks for, while it is there
};

struct JobReport {
    std::uint64_t fingerprint = 0;  // of the explanation reported last
    Reason reason = Reason::none;   // likewise
};

// Orders jobs by their arrival. Ids are other ones after a restart: what is decided in their order
// is decided otherwise then (I12).
using Arrived = std::pair<std::uint64_t, JobId>;

// What the part Jobs keeps of a job: its name, its record and where it belongs.
struct JobBase {
    bool live = false;
    ObjectKey key;
    TenantId tenant;
    std::uint64_t arrival = 0;  // order of first sight, the last tie-break
    Instant submitted_at;
    std::string pool_wanted;   // never empty
    std::string queue_wanted;  // empty: policy decides
    std::int32_t priority = 0;
    PoolId pool;              // none: unknown
    QueueId queue;            // none: unknown
    Boxed<JobRecord> record;  // of a submitted job
};

// Each struct of it is written by one part, which job_table.hpp names.
struct JobRow : JobBase {
    std::vector<PodId> pods;
    WorkloadRow workload;
    GangRow gang;
    BindingRow binding;
    NominationRow nomination;
    ElasticRow elastic;
    RunRow run;
    RetentionRow retention;
    HoldingRow holding;
    WaitingRow waiting;
    JobReport report;
    Instant timer_at;  // its entry in the timer set, or never
    bool is_dirty = false;
};

// An elastic job that says how fast it is by size: what it has done is time with its fewest ranks.
inline bool is_paced(const JobRow& job) {
    return job.elastic.size > 0 && !job.record->spec.speeds.empty();
}

}  // namespace gpuctl
