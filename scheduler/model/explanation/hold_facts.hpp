#pragma once
// Facts about the job itself that prevent its placement before any node is examined, and facts
// about what happened to the job before.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/explanation/cause.hpp"

namespace gpuctl::fact {

enum class WaitsFor : std::uint8_t {
    cluster_read,  // the first complete list of pods and nodes is not read yet
    leadership,
    turn,         // nothing blocks the job: the next cycle tries it
    other_ranks,  // binds of other ranks of the job are in flight
    rollback      // its gang is being rolled back
};
struct Waits {
    WaitsFor what = WaitsFor::turn;
};
BOOST_DESCRIBE_STRUCT(Waits, (), (what))

struct PoolUnknown {
    std::string pool;
    std::vector<std::string> pools;  // pools that exist
};
BOOST_DESCRIBE_STRUCT(PoolUnknown, (), (pool, pools))

struct QueueUnknown {
    std::string queue;
    std::string pool;
    std::vector<std::string> queues;  // leaf queues of the pool
};
BOOST_DESCRIBE_STRUCT(QueueUnknown, (), (queue, pool, queues))

struct QueueHoldsQueues {
    std::string queue;
    std::string pool;
    std::vector<std::string> queues;  // leaf queues below the queue
};
BOOST_DESCRIBE_STRUCT(QueueHoldsQueues, (), (queue, pool, queues))

struct GangSizeUnknown {
    std::string gang;            // the PodGroup that could state the size; empty: none can
    bool has_pod_group = false;  // the PodGroup exists and states no size
    std::string problem;  // problem of the size that its pods state; empty: the pods state none
};
BOOST_DESCRIBE_STRUCT(GangSizeUnknown, (), (gang, has_pod_group, problem))

struct RoleCount {
    std::string role;
    std::int64_t ranks_needed = 0;
    std::int64_t ranks = 0;
};
BOOST_DESCRIBE_STRUCT(RoleCount, (), (role, ranks_needed, ranks))

struct GangIncomplete {
    std::int64_t ranks_needed = 0;
    std::int64_t ranks = 0;
    std::vector<RoleCount> roles;      // roles that lack ranks
    std::vector<std::int64_t> stated;  // the sizes, if its pods state different sizes
    // a controller that waits for each rank to be ready before it creates the next
    std::string made_in_turn_by;
};
BOOST_DESCRIBE_STRUCT(GangIncomplete, (), (ranks_needed, ranks, roles, stated, made_in_turn_by))

struct PodsGated {
    std::int64_t pods = 0;
};
BOOST_DESCRIBE_STRUCT(PodsGated, (), (pods))

struct FeatureUnsupported {
    std::string pod;  // the pod that uses the feature; empty: all pods of the job use it
    std::string feature;
};
BOOST_DESCRIBE_STRUCT(FeatureUnsupported, (), (pod, feature))

// Room is nominated for the job, and pods that hold it are being evicted.
struct RoomNominated {
    GpuMilli gpus;                   // 0: only other resources than GPUs
    std::vector<std::string> nodes;  // the first of the nodes
    std::int64_t nodes_total = 0;
    std::vector<std::string> pods;  // the first of the pods that are being evicted
    std::int64_t pods_total = 0;
    Duration ends_in;
};
BOOST_DESCRIBE_STRUCT(RoomNominated, (), (gpus, nodes, nodes_total, pods, pods_total, ends_in))

struct PodBoundElsewhere {
    std::string pod;
};
BOOST_DESCRIBE_STRUCT(PodBoundElsewhere, (), (pod))

struct PodGone {
    std::string pod;
};
BOOST_DESCRIBE_STRUCT(PodGone, (), (pod))

struct BindRefused {
    std::string pod;
    std::string message;
    Duration retry_in;
};
BOOST_DESCRIBE_STRUCT(BindRefused, (), (pod, message, retry_in))

struct BindBackoff {
    std::int64_t failures = 0;
    std::string message;  // may be empty
    Duration retry_in;
};
BOOST_DESCRIBE_STRUCT(BindBackoff, (), (failures, message, retry_in))

// Reported first. The facts after it explain why the rest of the gang cannot be bound.
struct GangHalfBound {
    std::int64_t ranks_needed = 0;
    std::int64_t ranks_bound = 0;
    std::vector<RoleCount> roles;
};
BOOST_DESCRIBE_STRUCT(GangHalfBound, (), (ranks_needed, ranks_bound, roles))

// A gang that lost ranks keeps the capacity of its other ranks until its repair is due.
struct GangRepair {
    Duration due_in;  // 0: the repair is due now
    Duration lacked_for;
};
BOOST_DESCRIBE_STRUCT(GangRepair, (), (due_in, lacked_for))

// The job ran before and was evicted for this reason.
struct EvictedBefore {
    Cause why;
};
BOOST_DESCRIBE_STRUCT(EvictedBefore, (), (why))

// The job's PodGroup or its pods name a queue of another scheduler.
struct QueueIgnored {
    std::string queue;
    std::string pool;
    bool exists = false;  // the queue exists and has sub-queues
};
BOOST_DESCRIBE_STRUCT(QueueIgnored, (), (queue, pool, exists))

// Its user has paused the job.
struct Paused {
    GpuMilli gpus;                   // that it keeps for its pods; 0: none
    std::vector<std::string> nodes;  // the first of the nodes on which it keeps room
    std::int64_t nodes_total = 0;
    std::int64_t pods_lost = 0;           // for which it no longer keeps room
    std::vector<std::string> nodes_lost;  // where that room was: the first of these nodes
    std::int64_t nodes_lost_total = 0;
    bool releases = false;  // it was paused without keeping room
};
BOOST_DESCRIBE_STRUCT(Paused, (),
                      (gpus, nodes, nodes_total, pods_lost, nodes_lost, nodes_lost_total, releases))

enum class PodsMissingCause : std::uint8_t {
    creating_workload,
    workload_refused,
    suspended,
    scaled_to_zero,
    controller_fails,
    last_pod_failed,
    unknown
};
struct PodsMissing {
    PodsMissingCause cause = PodsMissingCause::unknown;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(PodsMissing, (), (cause, message))

// Why the workload was not created, in the words of the cluster.
struct ClusterMessage {
    std::string message;
};
BOOST_DESCRIBE_STRUCT(ClusterMessage, (), (message))

// A gang ran, lacks ranks, and its controller has not created them again.
struct RanksNotMade {};
BOOST_DESCRIBE_STRUCT(RanksNotMade, (), ())

struct ControllerFails {
    std::string message;
};
BOOST_DESCRIBE_STRUCT(ControllerFails, (), (message))

}  // namespace gpuctl::fact
