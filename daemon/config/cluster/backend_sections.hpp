#pragma once
// What the section of a backend in gpuctld.yaml says to the rest of the program: a row for each
// backend, so that no check and no caller compares cluster.mode with a name.

#include <string_view>
#include <vector>

#include "daemon/config/config.hpp"

namespace gpuctl::config {

struct BackendSection {
    ClusterMode mode;
    // The nodes, if the section lists them: pools, names and GPU models are known before the start,
    // and the policy is checked against them. nullptr: only the running cluster knows its nodes.
    const std::vector<EmbeddedNodes>& (*nodes)(const Cluster& cluster);
    // The key that lists them, for messages.
    std::string_view nodes_key;
    // The directories below which jobs may mount paths of a host; an empty list: none.
    const std::vector<std::string>& (*host_path_roots)(const Cluster& cluster);
};

const BackendSection& section_of(ClusterMode mode);

// nullptr: the configuration does not list them.
const std::vector<EmbeddedNodes>* known_nodes(const Cluster& cluster);
std::vector<std::string> host_path_roots(const Cluster& cluster);

}  // namespace gpuctl::config
