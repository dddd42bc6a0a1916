#pragma once
// Every input of the engine. Events carry names and uids, never dense ids: they come from outside,
// and the journal stores them.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/base/error_code.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/job/job_change.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/job/workload.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/node_change.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/policy_object.hpp"
#include "scheduler/model/signal.hpp"

namespace gpuctl {

// --- observations of the cluster ---
struct NodeObserved {
    NodeFacts node;
};
BOOST_DESCRIBE_STRUCT(NodeObserved, (), (node))
struct NodeRemoved {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(NodeRemoved, (), (name))
struct PodObserved {
    PodFacts pod;
};
BOOST_DESCRIBE_STRUCT(PodObserved, (), (pod))
struct PodRemoved {
    std::string uid;
};
BOOST_DESCRIBE_STRUCT(PodRemoved, (), (uid))
// An object (a PodGroup of any API group, or the controller of the pods) states the minimum number
// of ranks of the gang `key`.
struct GangObserved {
    ObjectKey key;
    GangSize size;
    GangNote note{};
};
BOOST_DESCRIBE_STRUCT(GangObserved, (), (key, size, note))
struct GangRemoved {
    ObjectKey key;
};
BOOST_DESCRIBE_STRUCT(GangRemoved, (), (key))
// Every informer has delivered its first complete list. From now on an object that is absent from
// the lists does not exist.
struct CacheSynced {};
BOOST_DESCRIBE_STRUCT(CacheSynced, (), ())

// --- requests of users and administrators ---
struct JobSubmitted {
    JobRecord job;
};
BOOST_DESCRIBE_STRUCT(JobSubmitted, (), (job))
struct JobDeleteRequested {
    ObjectKey key;
    bool force = false;
};
BOOST_DESCRIBE_STRUCT(JobDeleteRequested, (), (key, force))
struct PolicyChanged {
    Policy policy;
};
BOOST_DESCRIBE_STRUCT(PolicyChanged, (), (policy))

// --- outcomes of effects ---
enum class BindResult : std::uint8_t {
    bound,  // accepted, or read back as bound to our node
    // read back as bound to another node: the watch will report that bind, our bind is dropped
    elsewhere,
    gone,     // 404 or another uid
    refused,  // forbidden, invalid, being deleted, gated: tried again after the longest pause
    failed    // it may be bound; may be tried again after backoff
};
BOOST_DESCRIBE_ENUM(BindResult, bound, elsewhere, gone, refused, failed)
struct BindOutcome {
    EffectId effect{};
    std::string uid;
    BindResult result = BindResult::failed;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(BindOutcome, (), (effect, uid, result, message))

struct PodDeleteOutcome {
    EffectId effect{};
    std::string uid;
    bool deleted = false;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(PodDeleteOutcome, (), (effect, uid, deleted, message))

enum class EvictResult : std::uint8_t {
    evicted,            // accepted: the pod is terminating
    gone,               // 404 or another uid
    disruption_budget,  // a PodDisruptionBudget refuses it now; tried again after backoff
    refused,            // permanently
    failed              // it may be evicted; may be tried again after backoff
};
BOOST_DESCRIBE_ENUM(EvictResult, evicted, gone, disruption_budget, refused, failed)
struct PodEvictOutcome {
    EffectId effect{};
    std::string uid;
    EvictResult result = EvictResult::failed;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(PodEvictOutcome, (), (effect, uid, result, message))

struct WorkloadOutcome {
    EffectId effect{};
    ObjectKey key;
    bool done = false;
    bool retryable = false;  // only if it is not done
    std::string message;
    // only if it is not done: reported to the client
    ErrorCode code = ErrorCode::ClusterUnavailable;
};
BOOST_DESCRIBE_STRUCT(WorkloadOutcome, (), (effect, key, done, retryable, message, code))

enum class ResizeResult : std::uint8_t {
    resized,     // the job has the new size, perhaps since an earlier try
    other_size,  // the job has neither the old nor the new size: `size` has it
    gone,        // 404, or another job of that name
    refused,     // permanently
    failed       // it may be resized; may be tried again after backoff
};
BOOST_DESCRIBE_ENUM(ResizeResult, resized, other_size, gone, refused, failed)
struct WorkloadResizeOutcome {
    EffectId effect{};
    ObjectKey key;
    ResizeResult result = ResizeResult::failed;
    std::int32_t size = 0;  // only for other_size
    std::string message;
};
BOOST_DESCRIBE_STRUCT(WorkloadResizeOutcome, (), (effect, key, result, size, message))

// --- the objects of submitted jobs, as the watch reports them ---
struct WorkloadObserved {
    WorkloadFacts workload;
};
BOOST_DESCRIBE_STRUCT(WorkloadObserved, (), (workload))

struct WorkloadRemoved {
    ObjectKey key;
    std::string job_uid;
};
BOOST_DESCRIBE_STRUCT(WorkloadRemoved, (), (key, job_uid))

// The watch reports a workload with our labels whose job is unknown: another gpuctld created it, or
// the journal was lost. The API server decides what exists, so the job is added again.
struct JobAdopted {
    JobRecord job;
};
BOOST_DESCRIBE_STRUCT(JobAdopted, (), (job))

// Pods request these devices as `resource`. Another allocator than the counts of node resources
// assigns them (Kubernetes Dynamic Resource Allocation), so no pod that needs them can be placed
// here.
struct DeviceClassObserved {
    std::string name;
    std::string resource;  // empty: the devices have no resource name
};
BOOST_DESCRIBE_STRUCT(DeviceClassObserved, (), (name, resource))
struct DeviceClassRemoved {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(DeviceClassRemoved, (), (name))

// A metrics source was read. At most kSignalsPerEventMax signals count, further signals are
// ignored. Of two readings of the same signal the newer one counts.
struct MetricsObserved {
    std::vector<JobSignal> signals;
};
BOOST_DESCRIBE_STRUCT(MetricsObserved, (), (signals))

// A user changes a submitted job. Nothing changes if it is another job by now, or was changed since
// the user read it. The object follows by UpdateWorkload.
struct JobUpdated {
    ObjectKey key;
    std::string uid;             // of the job that is meant
    std::uint64_t revision = 0;  // of the job as its user saw it; 0: whatever it is
    JobChange change;
};
BOOST_DESCRIBE_STRUCT(JobUpdated, (), (key, uid, revision, change))

// Objects of the policy were made, changed or deleted, all of them together. The policy that
// results comes as PolicyChanged.
struct PolicyObjectsChanged {
    std::vector<PolicyObject> put;
    std::vector<PolicyObjectGone> gone;
};
BOOST_DESCRIBE_STRUCT(PolicyObjectsChanged, (), (put, gone))

// A user changes a node. Changes of the same node are carried out one after another.
struct NodeChangeRequested {
    std::string request;  // its own name, never used again
    NodeChange change;
};
BOOST_DESCRIBE_STRUCT(NodeChangeRequested, (), (request, change))

enum class NodeChangeResult : std::uint8_t {
    changed,  // or so already
    refused,  // nothing has changed: the node is gone or another one, a label differs, forbidden
    failed    // it may be changed
};
BOOST_DESCRIBE_ENUM(NodeChangeResult, changed, refused, failed)
struct NodeChangeOutcome {
    EffectId effect{};
    std::string request;
    std::string node;
    NodeChangeResult result = NodeChangeResult::failed;
    ErrorCode code = ErrorCode::ClusterUnavailable;  // unless it is changed
    std::string message;
};
BOOST_DESCRIBE_STRUCT(NodeChangeOutcome, (), (effect, request, node, result, code, message))

// --- events of the daemon itself ---
struct LeadershipChanged {
    bool leading = false;
    Epoch epoch{};
};
BOOST_DESCRIBE_STRUCT(LeadershipChanged, (), (leading, epoch))
// The time of a WakeAt effect has come.
struct WokeUp {};
BOOST_DESCRIBE_STRUCT(WokeUp, (), ())
// Starts a planning cycle. The loop issues it after it has drained a batch of events; it is
// journaled like every input.
struct Plan {};
BOOST_DESCRIBE_STRUCT(Plan, (), ())

using Event =
    std::variant<NodeObserved, NodeRemoved, PodObserved, PodRemoved, GangObserved, GangRemoved,
                 CacheSynced, JobSubmitted, JobDeleteRequested, PolicyChanged, BindOutcome,
                 PodDeleteOutcome, WorkloadOutcome, LeadershipChanged, WokeUp, Plan,
                 WorkloadObserved, WorkloadRemoved, JobAdopted, PodEvictOutcome,
                 WorkloadResizeOutcome, DeviceClassObserved, DeviceClassRemoved, MetricsObserved,
                 JobUpdated, PolicyObjectsChanged, NodeChangeRequested,
                 NodeChangeOutcome>;  // new ones at the end: journals store their positions

// One journaled input: `step(state, event, now, rng)` with the rng seeded from `seed`.
struct Input {
    Sequence sequence{};
    Instant now;
    std::uint64_t seed = 0;
    Event event;
};
BOOST_DESCRIBE_STRUCT(Input, (), (sequence, now, seed, event))

}  // namespace gpuctl
