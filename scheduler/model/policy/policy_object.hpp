#pragma once
// What people configure while gpuctld runs: pools, quotas, queues and namespaces, made over the API
// or by another adapter. The state stores them as they were written; policy_document merges them
// with the configuration file into the one Policy (docs/adr/0041-policy-layers.md).

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <string>

#include "scheduler/base/time.hpp"

namespace gpuctl {

enum class PolicyKind : std::uint8_t { pool, quota, queue, name_space };
BOOST_DESCRIBE_ENUM(PolicyKind, pool, quota, queue, name_space)

// Where it was made. What the configuration file has is no object.
enum class PolicySource : std::uint8_t { api, crd };
BOOST_DESCRIBE_ENUM(PolicySource, api, crd)

// A quota has the name of its namespace, a queue "pool/queue".
struct PolicyKey {
    PolicyKind kind{};
    std::string name;
    friend auto operator<=>(const PolicyKey&, const PolicyKey&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyKey, (), (kind, name))

struct PolicyObject {
    PolicyKey key;
    std::string uid;
    std::uint64_t version = 1;  // a put with the same or an older one is ignored
    PolicySource source{};
    Instant created_at;
    Instant changed_at;
    std::string document;  // canonical JSON
    friend auto operator<=>(const PolicyObject&, const PolicyObject&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyObject, (),
                      (key, uid, version, source, created_at, changed_at, document))

struct PolicyObjectGone {
    PolicyKey key;
    std::string uid;  // another object of that name stays
};
BOOST_DESCRIBE_STRUCT(PolicyObjectGone, (), (key, uid))

// More are refused where they are made.
inline constexpr std::size_t kPolicyObjectsMaximum = 2'000;

}  // namespace gpuctl
