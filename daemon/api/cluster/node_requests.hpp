#pragma once
// What the handlers of nodes and their labels share.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "daemon/api/http/routes.hpp"
#include "scheduler/engine/views.hpp"
#include "wire/label_key.hpp"

namespace gpuctl::api {

// Null: NodeNotFound (unknown_node).
const NodeFacts* find_facts(const ClusterState& state, const std::string& name);
Error unknown_node(const std::string& name);

// The rest of the path as a label key; the prefix is that of the configuration.
Result<wire::LabelKey> key_in_path(const Services& services, const Call& call);

struct JsonBody {
    nlohmann::ordered_json object;
};
// The body as a JSON object with these members only. InvalidJson, ValidationFailed.
Result<JsonBody> object_of(const Call& call, std::initializer_list<std::string_view> known);
// ValidationFailed: missing, or of another type.
Result<std::string> text_in(const JsonBody& body, const char* name);
Result<bool> flag_in(const JsonBody& body, const char* name);

// The label that the pool of the node is read from: ours, or one with an older prefix.
std::string pool_label_of(const NodeFacts& node, const std::string& prefix);

// Sends the change, and waits for its outcome as long as a request may take.
aio::Task<Result<void>> change_node(Services& services, NodeChange change);

}  // namespace gpuctl::api
