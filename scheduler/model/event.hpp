#pragma once
// Everything that can happen to the engine. Events carry names and uids, never dense ids: they come
// from outside and are what the journal holds.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <variant>

#include "scheduler/base/error_code.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/job_spec.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/model/policy.hpp"
#include "scheduler/model/workload.hpp"

namespace gpuctl {

// --- what we are told of the cluster ---
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
// An object (a PodGroup of any dialect, or what makes the pods) says how many ranks the gang `key`
// needs at least.
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
// Every informer has delivered its first full list: from here on absence means absence.
struct CacheSynced {};
BOOST_DESCRIBE_STRUCT(CacheSynced, (), ())

// --- what users and administrators ask ---
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

// --- what became of our effects ---
enum class BindResult : std::uint8_t {
    bound,      // accepted, or read back as bound to our node
    elsewhere,  // read back as bound to another node: the watch will say so, drop ours
    gone,       // 404 or another uid
    refused,    // forbidden, invalid, being deleted, gated: tried again after the longest pause
    failed      // not bound for sure, may be tried again after backoff
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
    evicted,            // accepted: it is being stopped
    gone,               // 404 or another uid
    disruption_budget,  // not now: others of its kind must stay up; tried again after backoff
    refused,            // for good
    failed              // not evicted for sure, may be tried again after backoff
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
    bool retryable = false;  // only with !done
    std::string message;
    ErrorCode code = ErrorCode::ClusterUnavailable;  // only with !done: what to tell who asked
};
BOOST_DESCRIBE_STRUCT(WorkloadOutcome, (), (effect, key, done, retryable, message, code))

enum class ResizeResult : std::uint8_t {
    resized,     // it has the new size, perhaps since an earlier try
    other_size,  // it has neither the old nor the new one: `size` says which
    gone,        // 404, or another job of that name
    refused,     // for good
    failed       // not resized for sure, may be tried again after backoff
};
BOOST_DESCRIBE_ENUM(ResizeResult, resized, other_size, gone, refused, failed)
struct WorkloadResizeOutcome {
    EffectId effect{};
    ObjectKey key;
    ResizeResult result = ResizeResult::failed;
    std::int32_t size = 0;  // only with other_size
    std::string message;
};
BOOST_DESCRIBE_STRUCT(WorkloadResizeOutcome, (), (effect, key, result, size, message))

// --- the objects of submitted jobs, as the watch shows them ---
struct WorkloadObserved {
    WorkloadFacts workload;
};
BOOST_DESCRIBE_STRUCT(WorkloadObserved, (), (workload))

struct WorkloadRemoved {
    ObjectKey key;
    std::string job_uid;
};
BOOST_DESCRIBE_STRUCT(WorkloadRemoved, (), (key, job_uid))

// A workload of ours whose job nobody here remembers: another gpuctld made it, or the journal was
// lost. The API server decides what exists (ruling 22), so it is a job again.
struct JobAdopted {
    JobRecord job;
};
BOOST_DESCRIBE_STRUCT(JobAdopted, (), (job))

// Devices that another allocator than the node's own counting hands out are asked for under the
// name `resource`. Nothing here can place a pod that needs them.
struct DeviceClassObserved {
    std::string name;
    std::string resource;  // empty: under no name
};
BOOST_DESCRIBE_STRUCT(DeviceClassObserved, (), (name, resource))
struct DeviceClassRemoved {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(DeviceClassRemoved, (), (name))

// --- the daemon's own ---
struct LeadershipChanged {
    bool leading = false;
    Epoch epoch{};
};
BOOST_DESCRIBE_STRUCT(LeadershipChanged, (), (leading, epoch))
// A WakeAt effect came due.
struct WokeUp {};
BOOST_DESCRIBE_STRUCT(WokeUp, (), ())
// Plan now (ruling 17): issued by the loop after a drained batch, journaled like every input.
struct Plan {};
BOOST_DESCRIBE_STRUCT(Plan, (), ())

using Event =
    std::variant<NodeObserved, NodeRemoved, PodObserved, PodRemoved, GangObserved, GangRemoved,
                 CacheSynced, JobSubmitted, JobDeleteRequested, PolicyChanged, BindOutcome,
                 PodDeleteOutcome, WorkloadOutcome, LeadershipChanged, WokeUp, Plan,
                 WorkloadObserved, WorkloadRemoved, JobAdopted, PodEvictOutcome,
                 WorkloadResizeOutcome, DeviceClassObserved,
                 DeviceClassRemoved>;  // new ones at the end: journals know them by their place

// One journaled input: `step(state, event, now, rng)` with the rng seeded from `seed`.
struct Input {
    Sequence sequence{};
    Instant now;
    std::uint64_t seed = 0;
    Event event;
};
BOOST_DESCRIBE_STRUCT(Input, (), (sequence, now, seed, event))

}  // namespace gpuctl
