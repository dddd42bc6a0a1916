#pragma once
// What is kept of a finished job once newer ones have taken its place among those that are kept in
// full (ADR 0030): a few hundred bytes instead of its row, its record and the rows of its pods.

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

// A pod that ended, whose row is gone and whose object the cluster still has: it is reported again
// after a restart, and its log can be read.
struct EndedPod {
    CompactUid uid;
    std::string name;  // without the name of its job, where it begins with that
    bool succeeded = false;
    bool is_rank = false;  // counted in FinishedRanks
};
BOOST_DESCRIBE_STRUCT(EndedPod, (), (uid, name, succeeded, is_rank))

// Of pods of another maker, which may make one more: what the job then goes on with.
struct EndedRun {
    FinishedRanks ranks;
    bool gang_started = false;
    Instant earlier_runs_until;
    PodPhase last_phase = PodPhase::pending;
};
BOOST_DESCRIBE_STRUCT(EndedRun, (), (ranks, gang_started, earlier_runs_until, last_phase))

struct FinishedJob {
    ObjectKey key;
    std::string uid;  // of the job that gpuctl was given; empty: pods of another maker
    JobKind kind = JobKind::training;
    bool failed = false;
    bool never_made = false;  // the cluster refused it for good: its name is free
    std::string pool;
    std::string queue;  // empty: system-critical pods are in none
    std::int32_t priority = 0;
    Instant submitted_at;
    Instant started_at;
    Instant finished_at;
    Instant ended_at;  // what its age counts from; never later than it was noticed
    GpuMilli gpus_per_pod;
    GpuMilli gpus;  // of all its pods
    std::int64_t pods = 0;
    std::string gpu_type;
    std::string nodes;    // the first of them, and how many more: "node-1,node-2,+6"
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

// The whole name of a pod that ended.
std::string name_of(const EndedPod& pod, const ObjectKey& job);
bool begins_with_job(const EndedPod& pod);  // its name, with the job's

class ClusterState;
struct JobRow;

// Pods of a job that came back whose rows are gone, but for ranks that are counted elsewhere.
struct PastEnds {
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
};
[[nodiscard]] PastEnds past_ends(const JobRow& job);

// It runs no more and no pod of it is to come, as far as is known: what its controller said, or
// that as many of its pods succeeded as it has; of pods of other makers, that all of them ended.
[[nodiscard]] bool has_ended(const ClusterState& state, const JobRow& job);
// Its summary; `ended_pods` are those of the time when it was summarized before.
[[nodiscard]] FinishedJob summary_of(const ClusterState& state, const JobRow& job);
[[nodiscard]] EndedPod ended_pod_of(const PodFacts& pod, const ObjectKey& job);

}  // namespace gpuctl
