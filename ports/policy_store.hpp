#pragma once
// Where objects of the policy are stored: the journal (the embedded cluster, docs/adr/0041), or the
// objects of a cluster, which its adapter reports to the sink as PolicyObjectsChanged
// (docs/adr/0049).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aio/deadline.hpp"
#include "aio/task.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::ports {

// What a pool object says of one of its nodes.
struct NodeMembership {
    std::string pool;
    std::string gpu_model;  // empty: as the node has it
    friend bool operator==(const NodeMembership&, const NodeMembership&) = default;
};
using NodeMemberships = std::map<std::string, NodeMembership>;  // by node

// Projects the membership of nodes: to labels, and to the pool that NodeObserved reports.
class NodePools {
public:
    virtual ~NodePools() = default;
    // Nodes that are not in `all` are in the pool of their own configuration. Changed nodes are
    // reported at once.
    virtual void assign(const NodeMemberships& all) = 0;
};

// A change of objects, and what it results in.
struct PolicyWrite {
    PolicyObjectsChanged objects;
    Policy policy;
    NodeMemberships nodes;
};

class PolicyStore {
public:
    virtual ~PolicyStore() = default;
    // Why no objects of this kind can be written here, and what to do about it.
    [[nodiscard]] virtual std::optional<Error> refusal(PolicyKind kind) const = 0;
    // Other clients write the objects as well: an object that cannot be used is left out of the
    // policy, and its status says so.
    [[nodiscard]] virtual bool has_other_writers() const = 0;
    // All or nothing; answered once it is stored and the engine has it.
    virtual aio::Task<Result<void>> write(PolicyWrite wanted, aio::Deadline deadline) = 0;
    // At a start and after a reload: what the stored objects say of nodes.
    virtual void assign(const NodeMemberships& all) = 0;
};

// What the status of an object in the cluster says.
struct PolicyObjectStatus {
    PolicyKey key;
    std::string uid;
    std::uint64_t version = 0;  // that it is about
    std::string problem;        // why it is not used, or not with all its nodes; empty: it is
    std::string problem_code;
    bool is_used = true;
    // Of a pool.
    std::int64_t nodes = 0;               // in the cluster
    std::vector<std::string> nodes_gone;  // that it names and the cluster does not have
    GpuMilli gpus;
    GpuMilli gpus_used;
};

// An object as it is after a write; an empty uid: deleted.
struct PolicyObjectWritten {
    PolicyKey key;
    std::string uid;
    std::uint64_t version = 0;
};

// Objects of the policy in a cluster, where other clients write them, too.
class PolicyObjectPort {
public:
    virtual ~PolicyObjectPort() = default;
    [[nodiscard]] virtual std::optional<Error> refusal(PolicyKind kind) const = 0;
    // One after another; what was made before a failure is deleted again. Conflict: another client
    // changed one of them meanwhile.
    virtual aio::Task<Result<std::vector<PolicyObjectWritten>>> write(PolicyObjectsChanged wanted,
                                                                      aio::Deadline deadline) = 0;
    // Replaces the reports before; written at a bounded rate, where it differs from what is there.
    virtual void report(std::vector<PolicyObjectStatus> all) = 0;
};

}  // namespace gpuctl::ports
