#pragma once
// What objects other than pods and nodes say that has a part in decisions, and what follows from it
// for a pod: its pool and job, a queue suggested to another scheduler, what only a device class
// serves.

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
    std::map<ObjectKey, GangNote> gang_notes;           // of those that say something
    std::map<std::string, std::string> device_classes;  // by name: the resource it serves
    // Pods of ours whose job may be another one when a node or a gang comes, changes or goes.
    std::map<NodePin, std::set<PodId>> pinned;        // by the node they name
    std::map<ObjectKey, std::set<PodId>> gang_named;  // by the gang they would be of
    // How many known nodes of a pool count a resource (GPUs and extended ones).
    std::map<std::pair<PoolId, std::string>, std::int64_t> counted;

    void note_node(PoolId pool, const NodeFacts& node, std::int64_t sign);
    void note_pod(const PodFacts& pod, PodId id, bool is_there);
};

// The gang of all pods that say this name, if an object of that name says its size.
ObjectKey gang_named_by(const PodFacts& pod);

// --- pinned.cpp ---
// Known ones only: the pool of other nodes is unknown.
NodeId pinned_node(const ClusterState& state, const NodePin& pin);
// The pool that the pod names, else that of the node that it names, else the default one.
std::string_view pool_wanted_by(const ClusterState& state, const PodFacts& pod);
// A job has one pool; what makes a pod for each node has pods in several, and is a job in each.
ObjectKey job_key_of(const ClusterState& state, const PodFacts& pod);
// The uids of pods that name this node, as its labels are; of those that may be of this gang.
std::vector<std::string> pods_that_name(const ClusterState& state, const NodeFacts& node);
std::vector<std::string> pods_that_name(const ClusterState& state, const ObjectKey& gang);

// --- device_classes.cpp ---
// A resource that the pod asks for, that a device class serves and no node of its pool counts, in
// words; empty: there is none.
std::string device_class_needed(const ClusterState& state, const JobRow& job, const PodFacts& pod);
// Of each resource that a class serves, whether the pool's nodes count it.
std::vector<bool> classes_counted_in(const ClusterState& state, PoolId pool);

// --- apply_jobs.cpp ---
// Which its PodGroup names, or the first of its pods for another scheduler; empty: none.
std::string queue_suggested_for(const ClusterState& state, const JobRow& job);
// The queue that is named for another scheduler and ignored; nothing: no queue is named so, or it
// is used, or a queue of ours was named, too.
std::optional<fact::QueueIgnored> ignored_queue(const ClusterState& state, const JobRow& job);

// --- reports.cpp ---
// How the job came to wait where it waits: it was evicted, a queue that it names is ignored.
void add_origin(const ClusterState& state, const JobRow& job, std::vector<Fact>& facts);

}  // namespace gpuctl
