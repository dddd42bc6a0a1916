#pragma once
// The layers of a policy, and the one policy that they result in (docs/adr/0041-policy-layers.md).

#include <map>
#include <string>
#include <vector>

#include "policy_document/objects/objects.hpp"
#include "policy_document/policy_document.hpp"

namespace gpuctl::config {

// What the configuration file has.
struct FileLayer {
    PolicyDocument document;
    // By name, the place in the file; empty where no key names it: the pool default, the nodes of
    // an embedded cluster by default.
    std::map<PolicyKey, std::string> places;
    // "gpuctld.yaml:3:5", or "the configuration".
    [[nodiscard]] std::string place_of(const PolicyKey& key) const;
};

// What a pool object says of one of its nodes.
struct NodeOfPool {
    std::string pool;
    std::string gpu_model;  // empty: as the node has it
};

struct MergedPolicy {
    Policy policy;
    std::map<std::string, NodeOfPool> nodes;  // that pool objects name
};

// "pool infer", "quota of namespace team-a", "queue llm of pool infer".
std::string in_words(const PolicyKey& key);

// Errors: a name in both layers, a node in two pools, a queue without its pool or parent, sums of
// guarantees that do not fit. Each names the objects.
Result<MergedPolicy> merge_layers(const FileLayer& file,
                                  const std::map<PolicyKey, PolicyObject>& objects);

// Why an object is not used as it is.
struct ObjectProblem {
    Error why;
    bool is_left_out = true;  // false: used without those of its nodes that an older pool has
};
struct UsableObjects {
    std::map<PolicyKey, PolicyObject> objects;  // as they are used
    std::map<PolicyKey, ObjectProblem> problems;
};
// For objects that other clients write: leaves out what does not go together with the file or with
// older objects, so that the rest can be merged. A node of two pools stays in the older one.
UsableObjects usable_objects(const FileLayer& file,
                             const std::map<PolicyKey, PolicyObject>& objects);

}  // namespace gpuctl::config
