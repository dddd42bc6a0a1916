#pragma once
// Objects of the policy as API objects, and back: pools are ComputePools, queues are Queues
// (config/crds.yaml), quotas are ResourceQuotas with our labels, namespaces are Namespaces with
// ours. Between them and the engine is the canonical document of policy_document.
//
// Pure; called on the loop's thread.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/json/labels.hpp"
#include "scheduler/model/policy/policy_object.hpp"

namespace gpuctl::k8s {

inline constexpr std::string_view kPolicyGroup = "runwhere.ai/v1";

// How the API server names a kind.
struct PolicyResource {
    PolicyKind kind;
    std::string_view api_version;
    std::string_view api_kind;
    std::string_view root;      // /api/v1, /apis/runwhere.ai/v1
    std::string_view resource;  // plural
    bool is_namespaced;
    bool is_own;  // a kind that config/crds.yaml defines, with a status
};
const PolicyResource& policy_resource(PolicyKind kind);
// Of all objects of the kind.
std::string policy_path(PolicyKind kind);
// "": all of them are ours.
std::string policy_selector(PolicyKind kind, const LabelKeys& labels);

struct PolicyReading {
    PolicyKey key;
    PolicySource source = PolicySource::crd;
    Instant created_at;
    bool is_deleting = false;
    bool was_made_here = false;  // as a namespace, which is deleted only then
    std::string document;        // canonical; empty: it cannot be used
    std::string problem;         // why not
    std::int64_t generation = 0;
    nlohmann::json status;
};
// nullopt: it is no JSON object with a name.
std::optional<PolicyReading> read_policy_object(PolicyKind kind, std::string_view object,
                                                const LabelKeys& labels);

// The object of a canonical document, with what gpuctl writes of it.
nlohmann::json policy_manifest(const PolicyKey& key, const std::string& document,
                               const LabelKeys& labels);
// What has to change of the one to become the other, as a JSON merge patch; members that neither
// has are left as they are.
nlohmann::json merge_patch_between(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace gpuctl::k8s
