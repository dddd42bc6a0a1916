#pragma once
// Objects of the policy as JSON.

#include <string>

#include "daemon/api/http/services.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/policy/policy_layers.hpp"

namespace gpuctl::api {

// Adds to the JSON of a pool: source, and what its object says.
void add_pool_object(const PolicyLayers& layers, const std::string& name, Json& body);
// Its source, for the JSON of a queue.
void add_queue_object(const PolicyLayers& layers, Json& body);

// The quota of a namespace, from an object or the file; null: it has none.
Json quota_json(const Services& services, const std::string& namespace_name);
// The namespaces that have one, by name.
std::vector<std::string> quota_names(const Services& services);

// {name, status, age, createdAt, source, managed}; null: there is no such namespace.
Json namespace_json(const Services& services, const std::string& name, Instant now);
std::vector<std::string> namespace_names(const Services& services);

// What a change did to an object: {kind, name, status, action, message, ...}.
Json outcome_json(const Services& services, const PolicyOutcome& outcome, bool dry_run);

}  // namespace gpuctl::api
