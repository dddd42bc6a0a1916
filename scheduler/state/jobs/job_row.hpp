#pragma once
// What the engine holds about a job: its name and record, and a struct for each state machine.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/job_change.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/job/workload.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/state/bindings/binding_row.hpp"
#include "scheduler/state/elastic/elastic_row.hpp"
#include "scheduler/state/gangs/gang_row.hpp"
#include "scheduler/state/jobs/retention_row.hpp"
#include "scheduler/state/nominations/nomination_row.hpp"
#include "scheduler/state/run_times/run_row.hpp"

namespace gpuctl {

// The state of the Kubernetes object of a submitted job.
//
//   none          creating ──created──> created ──deletion asked for──> deleting ──> row is gone
//   (pods of a       │                                                     ^
//   user's own)      └──refused for good──> failed ────────────────────────┘
enum class WorkloadState : std::uint8_t {
    none,      // pods that a Kubernetes user created, no record
    creating,  // until the first success
    created,
    failed,   // could not be created, for good
    deleting  // asked for by the user; record and pods go away
};

struct WorkloadRow {
    WorkloadState state = WorkloadState::none;
    bool due = false;        // an effect must be sent as soon as writing is allowed
    bool in_flight = false;  // sent, without outcome
    bool force_delete = false;
    EffectId effect{};
    std::int32_t failures = 0;
    Instant not_before;
    Instant create_deadline;  // of a creation without an answer; else never
    // until then, a creation that was given up may still be carried out
    Instant create_lands_until;
    std::string message;         // of the last outcome that was not a success
    Boxed<WorkloadFacts> facts;  // once the watch has shown its object
};

// Changes of a submitted job by users. `revision` counts them. The change that its object does not
// show yet is sent like a creation, by `WorkloadRow::due`.
struct ChangeRow {
    std::uint64_t revision = 0;
    WorkloadPart part = WorkloadPart::none;  // what UpdateWorkload is to change
    // Until the object has followed: the record that it has, which returns if it cannot be changed.
    Boxed<JobRecord> before;
    bool was_paused = false;  // likewise
    friend bool operator==(const ChangeRow&, const ChangeRow&) = default;
};
BOOST_DESCRIBE_STRUCT(ChangeRow, (), (revision, part, before, was_paused))

// A pause, and the room that the job keeps for its pods (seats.cpp).
//
//   active ──pause──> paused ──resume──> resuming ──its pods are placed, or `seats_until`──> active
//                     │    ^                 │
//                     └────┴──── pause ──────┘
enum class PausePhase : std::uint8_t { active, paused, resuming };
BOOST_DESCRIBE_ENUM(PausePhase, active, paused, resuming)

struct PauseRow {
    PausePhase phase = PausePhase::active;
    bool releases = false;                // it keeps no room
    Instant since;                        // when it was paused or resumed
    Instant seats_until;                  // a resumed job keeps its seats until then
    bool was_seen = false;                // the watch has shown its object without pods
    std::int64_t seats_lost = 0;          // with their nodes
    std::vector<std::string> nodes_lost;  // where these were, sorted
    friend bool operator==(const PauseRow&, const PauseRow&) = default;
};
BOOST_DESCRIBE_STRUCT(PauseRow, (),
                      (phase, releases, since, seats_until, was_seen, seats_lost, nodes_lost))

// What is charged to the job's queue and namespace.
struct HoldingRow {
    std::int64_t pods = 0;
    GpuMilli gpus;
};

// The job's place in the queue book.
struct WaitingRow {
    ClassId in_class;  // none: it does not wait in a queue
    GpuMilli gpus;     // the GPUs that it requests while it waits there
};

struct JobReport {
    std::uint64_t fingerprint = 0;  // of the explanation that was reported last
    Reason reason = Reason::none;   // likewise
};

// Orders jobs by arrival. Ids change after a restart: decisions in the order of ids would change,
// too (I12).
using Arrived = std::pair<std::uint64_t, JobId>;

// What the part Jobs stores of a job: its name, its record, and its pool and queue.
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

// Each struct is written by one part, which job_table.hpp names.
struct JobRow : JobBase {
    std::vector<PodId> pods;
    std::vector<PodId> seats;  // room that it keeps while it is paused (seats.cpp), by rank
    WorkloadRow workload;
    ChangeRow change;
    PauseRow pause;
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

// True for an elastic job that states its speed by size: its completed work is measured as run time
// with its fewest ranks.
inline bool is_paced(const JobRow& job) {
    return job.elastic.exists() && !job.record->spec.speeds.empty();
}

}  // namespace gpuctl
