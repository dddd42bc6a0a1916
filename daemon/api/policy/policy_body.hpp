#pragma once
// The bodies of requests about pools, quotas, queues and namespaces: JSON, YAML, or YAML in JSON.

#include <string>
#include <vector>

#include "daemon/api/http/routes.hpp"
#include "daemon/api/policy/policy_layers.hpp"

namespace gpuctl::api {

struct PolicyBody {
    std::vector<config::ObjectDraft> drafts;
    std::vector<PolicyKey> keys;  // of the drafts, for a deletion
    std::vector<Detail> warnings;
    bool dry_run = false;
};

// Documents of one kind; one without a kind is of it, one of another kind is UnsupportedKind.
Result<PolicyBody> read_policy_body(const Call& call, PolicyKind kind);
// Documents of any kinds of a policy.
Result<PolicyBody> read_policy_body(const Call& call);
// Only what the documents are about.
Result<PolicyBody> read_policy_keys(const Call& call);
// A body of JSON without a header changes the keys that it has; the others keep the values of
// `known`. Any other body is a whole document. `name` is that of the address.
Result<PolicyBody> read_policy_change(const Call& call, const PolicyObject& known);

}  // namespace gpuctl::api
