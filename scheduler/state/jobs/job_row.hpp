#pragma once
// What the engine holds about a job: its name and record, and a struct for each state machine.

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
#include "scheduler/state/bindings/binding_row.hpp"
#include "scheduler/state/elastic/elastic_row.hpp"
#include "scheduler/state/gangs/gang_row.hpp"
#include "scheduler/state/jobs/retention_row.hpp"
#include "scheduler/state/nominations/nomination_row.hpp"
#include "scheduler/state/run_times/run_row.hpp"

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
    return job.elastic.exists() && !job.record->spec.speeds.empty();
}

}  // namespace gpuctl
