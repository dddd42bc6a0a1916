#pragma once
// External inputs of the virtual cluster, in addition to the engine's effects.

#include <boost/describe.hpp>
#include <string>
#include <variant>

#include "scheduler/model/node.hpp"
#include "scheduler/model/pod.hpp"
#include "sim/settings.hpp"

namespace gpuctl::sim {

// A node joins, or its facts change (labels, allocatable, pool).
struct NodeJoins {
    NodeFacts node;
};
BOOST_DESCRIBE_STRUCT(NodeJoins, (), (node))
// The machine stops responding: its containers end, and its pods are evicted after a while.
struct NodeLost {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(NodeLost, (), (name))
struct NodeReturns {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(NodeReturns, (), (name))
struct NodeCordoned {
    std::string name;
    bool cordoned = true;
};
BOOST_DESCRIBE_STRUCT(NodeCordoned, (), (name, cordoned))
// The node object is deleted; its orphaned pods are removed after Settings::orphan_removal.
struct NodeLeaves {
    std::string name;
};
BOOST_DESCRIBE_STRUCT(NodeLeaves, (), (name))
// The pod's container exits with an error, e.g. OOMKilled.
struct ContainerKilled {
    ObjectKey pod;
    std::string status = "OOMKilled";
};
BOOST_DESCRIBE_STRUCT(ContainerKilled, (), (pod, status))
struct FaultsChanged {
    Faults faults;
};
BOOST_DESCRIBE_STRUCT(FaultsChanged, (), (faults))

using SimInput = std::variant<NodeJoins, NodeLost, NodeReturns, NodeCordoned, NodeLeaves,
                              ContainerKilled, FaultsChanged>;

}  // namespace gpuctl::sim
