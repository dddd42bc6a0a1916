#pragma once
// One machine as the engine sees it.

#include <algorithm>
#include <boost/describe.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/ascii.hpp"
#include "scheduler/base/time.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/resources.hpp"

namespace gpuctl {

struct NodeFacts {
    std::string name;
    std::string pool;       // never empty; "default" for a node without a pool
    std::string gpu_model;  // as labelled, e.g. A100-80G; empty when unknown or no GPU
    std::string address;    // shown to users only
    bool ready = true;      // shown to users only: taints block placement, `ready` does not
    bool unschedulable = false;
    Resources allocatable;  // not the capacity
    std::map<std::string, std::string> labels;
    std::vector<Taint> taints;
    Instant created_at;
    NodeTopology topology;
    std::string
        unhealthy;  // why a health monitor reports that the node must take no work; empty: healthy
    std::int64_t gpus_unhealthy =
        0;                  // GPUs that the machine has and does not offer; shown to users only
    std::string uid;        // of its object; empty in an embedded cluster
    bool draining = false;  // a user empties it: its pods are evicted, it takes no new ones
    // Keys of labels that a user has changed; only in an embedded cluster, which keeps them.
    std::vector<std::string> changed_labels;
    friend auto operator<=>(const NodeFacts&, const NodeFacts&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeFacts, (),
                      (name, pool, gpu_model, address, ready, unschedulable, allocatable, labels,
                       taints, created_at, topology, unhealthy, gpus_unhealthy, uid, draining,
                       changed_labels))

// Names of GPU models are written by hand, so they are compared without case.
inline bool same_gpu_model(std::string_view a, std::string_view b) {
    return same_without_case(a, b);
}

// An empty list contains no model.
inline bool is_model_among(const std::vector<std::string_view>& models, std::string_view model) {
    return models.empty() || std::any_of(models.begin(), models.end(), [&](std::string_view one) {
               return same_gpu_model(one, model);
           });
}

// Rules without a model accept any model.
inline bool takes_gpu_model(const PlacementRules& rules, std::string_view model) {
    return rules.gpu_model.empty() || same_gpu_model(rules.gpu_model, model) ||
           std::any_of(rules.gpu_models_next.begin(), rules.gpu_models_next.end(),
                       [&](const std::string& next) { return same_gpu_model(next, model); });
}

}  // namespace gpuctl
