#pragma once
// Facts from objects other than pods and nodes that take part in decisions, and what follows from
// them for a pod: its pool and job, a queue named for another scheduler, and resources that only a
// device class provides.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

class ClusterState;
struct JobRow;

struct Outside {
    std::map<ObjectKey, GangNote> gang_notes;           // only notes that are not empty
    std::map<std::string, std::string> device_classes;  // name -> the resource that it provides
    // Our pods whose job may change when a node or a gang is added, changes or is removed.
    std::map<NodePin, std::set<PodId>> pinned;        // by the node that they name
    std::map<ObjectKey, std::set<PodId>> gang_named;  // by the gang that they would belong to
    // The number of known nodes of a pool that count a resource (GPUs and extended resources).
    std::map<std::pair<PoolId, std::string>, std::int64_t> counted;

    void note_node(PoolId pool, const NodeFacts& node, std::int64_t sign);
    void note_pod(const PodFacts& pod, PodId id, bool is_there);
};

// The gang of all pods with this name, if an object of that name states its size.
ObjectKey gang_named_by(const PodFacts& pod);

// --- pinned.cpp ---
// Known nodes only: the pool of other nodes is unknown.
NodeId pinned_node(const ClusterState& state, const NodePin& pin);
// The pool that the pod names; else that of the node that it names; else the default pool.
std::string_view pool_wanted_by(const ClusterState& state, const PodFacts& pod);
// A job has one pool. The pods of a controller with a pod for each node are in several pools, and
// are a job in each.
ObjectKey job_key_of(const ClusterState& state, const PodFacts& pod);
// The uids of pods that name this node, by its name or its labels; of pods that may belong to this
// gang.
std::vector<std::string> pods_that_name(const ClusterState& state, const NodeFacts& node);
std::vector<std::string> pods_that_name(const ClusterState& state, const ObjectKey& gang);

// --- device_classes.cpp ---
// In words: a resource that the pod requests, that a device class provides and that no node of its
// pool counts; empty: there is none.
std::string device_class_needed(const ClusterState& state, const JobRow& job, const PodFacts& pod);
// For each resource of a device class: whether the nodes of the pool count it.
std::vector<bool> classes_counted_in(const ClusterState& state, PoolId pool);

// --- apply_jobs.cpp ---
// The queue that its PodGroup, or the first of its pods, names for another scheduler; empty: none.
std::string queue_suggested_for(const ClusterState& state, const JobRow& job);
// A queue that is named for another scheduler and ignored. Absent: no queue is named so, it is
// used, or a queue of ours is named, too.
std::optional<fact::QueueIgnored> ignored_queue(const ClusterState& state, const JobRow& job);

// --- reports.cpp ---
// How the job came to wait in its queue: it was evicted, or a queue that it names is ignored.
void add_origin(const ClusterState& state, const JobRow& job, std::vector<Fact>& facts);

}  // namespace gpuctl
