#pragma once
// Every action that the engine can request. Each remote write carries its id, the epoch that fences
// it and its preconditions. Its outcome returns as an event.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/boxed.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/model/explanation/cause.hpp"
#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/job/job_change.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/node_change.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

struct PodReference {
    ObjectKey key;
    std::string uid;
};
BOOST_DESCRIBE_STRUCT(PodReference, (), (key, uid))

// Binds a pod to a node. -> BindOutcome
struct BindPod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
    std::string node;
    std::int32_t gang_attempt = 0;  // 0: not in a gang
    Instant deadline;               // if it was not sent by then, its outcome is `failed`
    // for a fraction of a GPU: pods with the same number share a GPU
    std::int32_t gpu_device = kNoDevice;
};
BOOST_DESCRIBE_STRUCT(BindPod, (), (id, epoch, pod, node, gang_attempt, deadline, gpu_device))

// Rolls back a gang that could not be bound as a whole: only pods with a controller are deleted.
// -> PodDeleteOutcome
struct DeletePod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
};
BOOST_DESCRIBE_STRUCT(DeletePod, (), (id, epoch, pod))

// Creates the object of a job. -> WorkloadOutcome, a success if an object with our uid exists
// already.
struct CreateWorkload {
    EffectId id{};
    Epoch epoch{};
    Boxed<JobRecord> job;  // always present; by far the largest member of an effect
    Instant deadline{};    // if it could not be sent by then, its outcome is "not done, retryable"
};
BOOST_DESCRIBE_STRUCT(CreateWorkload, (), (id, epoch, job, deadline))

// Deletes the object of a job. -> WorkloadOutcome, a success if the object does not exist.
struct DeleteWorkload {
    EffectId id{};
    Epoch epoch{};
    ObjectKey key;
    JobKind kind = JobKind::training;
    bool force = false;
};
BOOST_DESCRIBE_STRUCT(DeleteWorkload, (), (id, epoch, key, kind, force))

// Reports a changed explanation of the job to its users (events, conditions). Best effort, no
// outcome.
struct ReportPending {
    ObjectKey job;
    std::vector<PodReference> pods;  // unbound pods of the job
    Explanation explanation;
};
BOOST_DESCRIBE_STRUCT(ReportPending, (), (job, pods, explanation))

// Reports that all pods of a round are bound. Best effort, no outcome.
struct ReportStarted {
    ObjectKey job;
    std::vector<PodReference> pods;
    std::vector<std::string> nodes;  // same order as `pods`
    Duration waited;
    std::vector<Fact> notes;  // facts about what was ignored
};
BOOST_DESCRIBE_STRUCT(ReportStarted, (), (job, pods, nodes, waited, notes))

// Requests WokeUp at this time. It replaces the previous request. -> WokeUp
struct WakeAt {
    Instant at;
};
BOOST_DESCRIBE_STRUCT(WakeAt, (), (at))

// Evicts a pod to make room for another job, or from a node that must become empty. Its controller
// creates it again, and PodDisruptionBudgets apply (Kubernetes Eviction API). -> PodEvictOutcome
struct EvictPod {
    EffectId id{};
    Epoch epoch{};
    PodReference pod;
    Duration grace;  // the pod's own, as the engine counts it; adapters send none
    CauseBox why;    // always present
    ObjectKey job;   // job of the evicted pod
    ObjectKey preemptor;
};
BOOST_DESCRIBE_STRUCT(EvictPod, (), (id, epoch, pod, grace, why, job, preemptor))

// Sets the number of ranks of an elastic job. Its controller creates missing ranks, or stops
// surplus ranks, the highest index first, with their own grace periods. It applies only if the job
// has `from` ranks now, so a delayed request changes nothing. -> WorkloadResizeOutcome
struct ResizeWorkload {
    EffectId id{};
    Epoch epoch{};
    ObjectKey key;
    std::string job_uid;
    std::int32_t from = 0;
    std::int32_t to = 0;
    CauseBox why;  // absent: only a size that was sent before is sent again
};
BOOST_DESCRIBE_STRUCT(ResizeWorkload, (), (id, epoch, key, job_uid, from, to, why))

// From now on only a summary of this finished job is kept (docs/adr/0030), and the engine no longer
// needs the cluster's copy of the job and its pods. In a cluster with other users nothing is
// removed. Best effort, no outcome; a cluster that drops the pods reports them as removed.
struct DropDetails {
    ObjectKey job;
    std::string job_uid;            // empty: the pods do not belong to a submitted job
    std::vector<std::string> pods;  // uids
};
BOOST_DESCRIBE_STRUCT(DropDetails, (), (job, job_uid, pods))

// Makes the object of a job what `job` says. It is patched if it is still the object of `job_uid`
// (another uid: Conflict) and has not changed since the adapter read it. If `job` has another uid,
// the object cannot be patched: it is deleted with its pods, then created for that uid.
// -> WorkloadOutcome, a success if the object is so already; a failure for good has changed
// nothing.
struct UpdateWorkload {
    EffectId id{};
    Epoch epoch{};
    std::string job_uid;
    JobKind kind = JobKind::training;  // of the object that exists
    Boxed<JobRecord> job;              // always present
    bool paused = false;               // it has no pods for now
    WorkloadPart part = WorkloadPart::whole;
    Instant deadline{};  // if it could not be sent by then, its outcome is "not done, retryable"
};
BOOST_DESCRIBE_STRUCT(UpdateWorkload, (), (id, epoch, job_uid, kind, job, paused, part, deadline))

// Changes a node that is as the change expects it. A cluster that reports the changed node itself
// does so before the outcome, so that a read after the answer shows the change.
// -> NodeChangeOutcome, a success if the node is so already
struct ChangeNode {
    EffectId id{};
    Epoch epoch{};
    std::string request;  // the request that is answered
    NodeChange change;
};
BOOST_DESCRIBE_STRUCT(ChangeNode, (), (id, epoch, request, change))

using Effect = std::variant<BindPod, DeletePod, CreateWorkload, DeleteWorkload, ReportPending,
                            ReportStarted, WakeAt, EvictPod, ResizeWorkload, DropDetails,
                            UpdateWorkload, ChangeNode>;  // new alternatives go at the end

}  // namespace gpuctl
