#pragma once
// The summary of a finished job, which replaces its row when newer jobs have ended (ADR 0030): a
// few hundred bytes instead of its row, its record and the rows of its pods.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/compact_uid.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/state/jobs/finished_ranks.hpp"

namespace gpuctl {

// An ended pod without a row, whose object still exists in the cluster: it is reported again after
// a restart, and its log can be read.
struct EndedPod {
    CompactUid uid;
    std::string name;  // without the name of its job, if it begins with that
    bool succeeded = false;
    bool is_rank = false;  // counted in FinishedRanks
};
BOOST_DESCRIBE_STRUCT(EndedPod, (), (uid, name, succeeded, is_rank))

// Of a job whose pods another controller creates, which may create one more: the values with which
// the job then continues.
struct EndedRun {
    FinishedRanks ranks;
    bool gang_started = false;
    Instant earlier_runs_until;
    PodPhase last_phase = PodPhase::pending;
};
BOOST_DESCRIBE_STRUCT(EndedRun, (), (ranks, gang_started, earlier_runs_until, last_phase))

struct FinishedJob {
    ObjectKey key;
    std::string uid;  // of a job submitted to gpuctl; empty: its pods come from another controller
    JobKind kind = JobKind::training;
    bool failed = false;
    bool never_made = false;  // the cluster refused to create it, for good: its name is free
    std::string pool;
    std::string queue;  // empty: system-critical pods are in no queue
    std::int32_t priority = 0;
    Instant submitted_at;
    Instant started_at;
    Instant finished_at;
    // its age counts from here; never later than the time at which the end was noticed
    Instant ended_at;
    GpuMilli gpus_per_pod;
    GpuMilli gpus;  // of all its pods
    std::int64_t pods = 0;
    std::string gpu_type;
    std::string nodes;    // the first nodes, and how many more: "node-1,node-2,+6"
    std::string message;  // why it failed
    std::string idempotency_key;
    std::vector<EndedPod> ended_pods;
    std::uint64_t arrival = 0;
    Boxed<EndedRun> run;  // without `uid`
};
BOOST_DESCRIBE_STRUCT(FinishedJob, (),
                      (key, uid, kind, failed, never_made, pool, queue, priority, submitted_at,
                       started_at, finished_at, ended_at, gpus_per_pod, gpus, pods, gpu_type, nodes,
                       message, idempotency_key, ended_pods, arrival, run))

// The full name of an ended pod.
std::string name_of(const EndedPod& pod, const ObjectKey& job);
bool begins_with_job(const EndedPod& pod);  // its name begins with the name of the job

class ClusterState;
struct JobRow;

// Ended pods without rows, of a job that returned from a summary; without ranks in FinishedRanks.
struct PastEnds {
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
};
[[nodiscard]] PastEnds past_ends(const JobRow& job);

// True if the job runs no more, and no pod of it is to come as far as is known: its controller
// reports it, or all its pods succeeded. If other controllers create its pods: all of them have
// ended.
[[nodiscard]] bool has_ended(const ClusterState& state, const JobRow& job);
// The summary of a job; `ended_pods` are those of its previous summary.
[[nodiscard]] FinishedJob summary_of(const ClusterState& state, const JobRow& job);
[[nodiscard]] EndedPod ended_pod_of(const PodFacts& pod, const ObjectKey& job);

}  // namespace gpuctl
