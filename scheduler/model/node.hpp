#pragma once
// One machine as the engine sees it.

#include <boost/describe.hpp>
#include <map>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/model/placement.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct NodeFacts {
    std::string name;
    std::string pool;       // never empty; "default" for a node nobody assigned
    std::string gpu_model;  // as labelled, e.g. A100-80G; empty when unknown or no GPU
    std::string address;    // shown to users only
    bool ready = true;      // shown to users only: what blocks placement are taints (S23)
    bool unschedulable = false;
    Resources allocatable;  // never the capacity (S19)
    std::map<std::string, std::string> labels;
    std::vector<Taint> taints;
    Instant created_at;
    friend auto operator<=>(const NodeFacts&, const NodeFacts&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeFacts, (),
                      (name, pool, gpu_model, address, ready, unschedulable, allocatable, labels,
                       taints, created_at))

}  // namespace gpuctl
