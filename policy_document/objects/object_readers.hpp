#pragma once
// Readers of the documents of objects, and their canonical forms. Private to policy_document.

#include <nlohmann/json.hpp>
#include <vector>

#include "policy_document/objects/objects.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

struct ObjectSource {
    const wire::Document& document;
    wire::Problems& problems;
    bool strict = false;
    [[nodiscard]] wire::Field root() const { return {document, &document.root, "", problems}; }
};

// Errors go to the source's problems; then what they return is not complete.
std::vector<PoolObject> read_pools(const ObjectSource& source);
std::vector<QuotaObject> read_quotas(const ObjectSource& source);
std::vector<QueueObject> read_queues(const ObjectSource& source);
std::vector<NamespaceObject> read_namespaces(const ObjectSource& source);

nlohmann::ordered_json to_json(const PoolObject& pool);
nlohmann::ordered_json to_json(const QuotaObject& quota);
nlohmann::ordered_json to_json(const NamespaceObject& name_space);
// A queue's keys as they were written.
nlohmann::ordered_json queue_json(const ObjectSource& source, const QueueObject& queue);

}  // namespace gpuctl::config
