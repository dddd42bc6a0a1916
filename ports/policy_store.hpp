#pragma once
// Where objects of the policy are stored: the journal (the embedded cluster), later also objects of
// a cluster, which the adapter reports to the sink as PolicyObjectsChanged (docs/adr/0041).

#include <map>
#include <optional>
#include <string>

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
    // Why no objects can be made here, and where pools and quotas come from instead.
    [[nodiscard]] virtual std::optional<Error> refusal() const = 0;
    // All or nothing; answered once it is stored and the engine has it.
    virtual aio::Task<Result<void>> write(PolicyWrite wanted, aio::Deadline deadline) = 0;
    // At a start and after a reload: what the stored objects say of nodes.
    virtual void assign(const NodeMemberships& all) = 0;
};

}  // namespace gpuctl::ports
