#pragma once
// What an operator configures for the pods of submitted jobs, for all pools or for one
// (cluster.kubernetes.podDefaults). A value of the pool wins over one for all pools; tolerations
// add up. A user's own environment variable wins over both.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuctl::k8s {

struct PodToleration {
    std::string key;     // empty: every taint
    std::string value;   // empty: every value
    std::string effect;  // empty: every effect
};

struct PodDefaults {
    std::string pool;  // empty: every pool
    std::string service_account;
    std::int64_t run_as_user = -1;  // -1: as the image says
    std::int64_t run_as_group = -1;
    std::int64_t fs_group = -1;
    bool run_as_non_root = false;
    std::string seccomp_profile;  // RuntimeDefault, Unconfined; empty: the cluster's default
    std::vector<PodToleration> tolerations;
    std::map<std::string, std::string> environment;
};

// Those of this pool merged over those of every pool.
PodDefaults pod_defaults_of(const std::vector<PodDefaults>& all, const std::string& pool);

}  // namespace gpuctl::k8s
