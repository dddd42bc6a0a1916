#pragma once
// Everything the engine can ask of the world. Each remote write carries its id, the epoch that
// fences it and its preconditions; its outcome comes back as an event.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/reason.hpp"

namespace gpuctl {

struct PodReference {
    ObjectKey key;
    std::string uid;
};
BOOST_DESCRIBE_STRUCT(PodReference, (), (key, uid))

// -> BindOutcome
struct BindPod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
    std::string node;
    std::int32_t gang_attempt = 0;        // 0: not in a gang
    Instant deadline;                     // outcome `failed` when it could not be sent by then
    std::int32_t gpu_device = kNoDevice;  // for a part of a GPU: shared with those told the same
};
BOOST_DESCRIBE_STRUCT(BindPod, (), (id, epoch, pod, node, gang_attempt, deadline, gpu_device))

// Rolls a gang back: only ever for pods with a controller. -> PodDeleteOutcome
struct DeletePod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
    std::string why;
};
BOOST_DESCRIBE_STRUCT(DeletePod, (), (id, epoch, pod, why))

// -> WorkloadOutcome. Creating one that exists with our uid is success.
struct CreateWorkload {
    EffectId id{};
    Epoch epoch{};
    Boxed<JobRecord> job;  // always there; by far the largest of what is asked for
    Instant deadline{};    // outcome "not done, retryable" when it could not be sent by then
};
BOOST_DESCRIBE_STRUCT(CreateWorkload, (), (id, epoch, job, deadline))

// -> WorkloadOutcome. Deleting what is gone is success.
struct DeleteWorkload {
    EffectId id{};
    Epoch epoch{};
    ObjectKey key;
    JobKind kind = JobKind::training;
    bool force = false;
};
BOOST_DESCRIBE_STRUCT(DeleteWorkload, (), (id, epoch, key, kind, force))

// The job's explanation changed: tell its users (events, conditions). Best effort, no outcome.
struct ReportPending {
    ObjectKey job;
    std::vector<PodReference> pods;  // its unbound pods
    Explanation explanation;
};
BOOST_DESCRIBE_STRUCT(ReportPending, (), (job, pods, explanation))

// All pods of this round are bound. Best effort, no outcome.
struct ReportStarted {
    ObjectKey job;
    std::vector<PodReference> pods;
    std::vector<std::string> nodes;  // same order as `pods`
    Duration waited;
    std::string note;  // what of its wishes was not looked at: "; queue gold, which ..."
};
BOOST_DESCRIBE_STRUCT(ReportStarted, (), (job, pods, nodes, waited, note))

// Send WokeUp at this time; replaces the previous request. -> WokeUp
struct WakeAt {
    Instant at;
};
BOOST_DESCRIBE_STRUCT(WakeAt, (), (at))

// Makes room for another job: the pod is stopped with its own grace and made anew by its
// controller, and whoever protects it from disruption has a say. -> PodEvictOutcome
struct EvictPod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
    Duration grace;   // what it is given to stop
    std::string why;  // for its users
    ObjectKey job;    // its own
    ObjectKey beneficiary;
};
BOOST_DESCRIBE_STRUCT(EvictPod, (), (id, epoch, pod, grace, why, job, beneficiary))

// Says how many ranks an elastic job has: its controller makes those that are missing, or stops
// those that are too many, the highest first, with their own grace (kubernetes.md G6, G12). Only if
// it has `from` of them now, so that one that comes late changes nothing. -> WorkloadResizeOutcome
struct ResizeWorkload {
    EffectId id{};
    Epoch epoch{};
    ObjectKey key;
    std::string job_uid;
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::string why;  // for its users
};
BOOST_DESCRIBE_STRUCT(ResizeWorkload, (), (id, epoch, key, job_uid, from, to, why))

// Of this finished job only a summary is kept from now on (ADR 0030): what others keep of it and
// its pods for the engine's sake is needed no more. Nothing is removed from a cluster that others
// use, too. Best effort, no outcome; a cluster that drops its pods reports them removed.
struct DropDetails {
    ObjectKey job;
    std::string job_uid;            // empty: pods of another maker
    std::vector<std::string> pods;  // uids
};
BOOST_DESCRIBE_STRUCT(DropDetails, (), (job, job_uid, pods))

using Effect =
    std::variant<BindPod, DeletePod, CreateWorkload, DeleteWorkload, ReportPending, ReportStarted,
                 WakeAt, EvictPod, ResizeWorkload, DropDetails>;  // new ones at the end

}  // namespace gpuctl
