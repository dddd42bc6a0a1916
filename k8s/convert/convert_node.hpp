#pragma once
// A node's JSON -> NodeFacts (scheduler/model/node.hpp).

#include <cstdint>
#include <string>
#include <string_view>

#include "k8s/json/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/node.hpp"

namespace gpuctl::k8s {

// InvalidJson for text that is no node with a name.
Result<NodeFacts> read_node(std::string_view json, const LabelKeys& labels);

// Equal fingerprints mean no relevant change: a heartbeat costs only the walk over the text.
std::uint64_t fingerprint(const NodeFacts& facts, std::string& scratch);

}  // namespace gpuctl::k8s
