#pragma once
// What uses an object of the policy, from the engine's state.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/model/policy/policy_object.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::api {

// The jobs of a pool that are neither finished nor being deleted: the first ones by name, and their
// number.
struct JobsInUse {
    std::vector<ObjectKey> first;
    std::size_t count = 0;
};
JobsInUse jobs_of_pool(const ClusterState& state, const std::string& pool);
// Of a queue; `name` as in its key.
JobsInUse jobs_of_queue(const ClusterState& state, const std::string& name);

// Why the object cannot be deleted without force.
std::optional<Error> use_of(const ClusterState& state, const PolicyKey& key);

// Jobs that gpuctl made are in it, finished ones too.
bool is_used_namespace(const ClusterState& state, const std::string& name);
// Those, and those with pods that gpuctl places, by name.
std::vector<std::string> used_namespaces(const ClusterState& state);
// The jobs of a namespace that gpuctl made and that are not being deleted.
std::vector<ObjectKey> own_jobs_in(const ClusterState& state, const std::string& name);

// nullopt: no node of that name.
std::optional<std::string> pool_of_node(const ClusterState& state, const std::string& name);

}  // namespace gpuctl::api
