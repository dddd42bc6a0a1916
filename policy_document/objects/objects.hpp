#pragma once
// Objects of a policy as documents: kinds pool (or resource), quota, queue, namespace. Users write
// them with a header (`pool:`, old files `metadata:`) or, in JSON, flat; the canonical document,
// which is stored, is flat JSON.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/policy_object.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::config {

struct PoolObject {
    std::string name;
    std::string description;
    std::map<std::string, std::string> nodes;  // each with its GPU type; empty: as the node has it
    std::vector<std::string> gpu_types;        // what its nodes should have
    std::optional<std::int64_t> jobs_maximum;
    std::optional<GpuMilli> gpus_per_job_maximum;
};

// The quota of one namespace; a document may have several.
struct QuotaObject {
    std::string namespace_name;
    std::string name;
    std::string description;
    std::optional<CpuMilli> cpu;
    std::optional<Bytes> memory;
    std::optional<GpuMilli> gpus;
    std::optional<std::int64_t> pods;  // checked when jobs are created or changed
};

struct QueueObject {
    std::string pool{kDefaultPool};
    QueuePolicy queue;
};

struct NamespaceObject {
    std::string name;
    std::string description;
};

// "pool", "quota", "queue", "namespace".
std::string_view to_string(PolicyKind kind);
// Also "resource" and "ns", without case; nullopt: no kind of a policy.
std::optional<PolicyKind> policy_kind_of(std::string_view word);
// Of the document; nullopt: it has none, or that of a job.
std::optional<PolicyKind> policy_kind_of(const wire::Document& document);

// An object as it was asked for.
struct ObjectDraft {
    PolicyKey key;
    std::string document;  // canonical
};
ObjectDraft draft_of(const PoolObject& pool);

struct ObjectReading {
    std::vector<ObjectDraft> drafts;
    std::vector<Detail> warnings;  // unknown keys, old spellings
};
// ValidationFailed with every error in Error::details. `strict`: unknown keys are errors.
Result<ObjectReading> read_objects(const wire::Document& document, PolicyKind kind,
                                   bool strict = false);
// The keys of the objects that a document is about; nothing else is checked, so that a file which
// would be refused today still names what it made.
Result<std::vector<PolicyKey>> keys_in(const wire::Document& document, PolicyKind kind);

// Whether two canonical documents say the same: a cluster keeps their members in an order of its
// own.
bool says_the_same(const std::string& a, const std::string& b);

// What a canonical document says. An error: it was written by another version.
Result<PoolObject> pool_in(const std::string& document);
Result<QuotaObject> quota_in(const std::string& document);
Result<QueueObject> queue_in(const std::string& document);
Result<NamespaceObject> namespace_in(const std::string& document);

}  // namespace gpuctl::config
