#include "k8s/policy/policy_codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "k8s/json/object_time.hpp"
#include "policy_document/objects/objects.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::k8s {
namespace {

using nlohmann::json;

constexpr auto kPolicyResources = std::to_array<PolicyResource>(
    {{PolicyKind::pool, kPolicyGroup, "ComputePool", "/apis/runwhere.ai/v1", "computepools", false,
      true},
     {PolicyKind::quota, "v1", "ResourceQuota", "/api/v1", "resourcequotas", true, false},
     {PolicyKind::queue, kPolicyGroup, "Queue", "/apis/runwhere.ai/v1", "queues", false, true},
     {PolicyKind::name_space, "v1", "Namespace", "/api/v1", "namespaces", false, false}});

constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
constexpr const char* kGpuctl = "gpuctl";
// Keys of a Queue that are in its name.
constexpr const char* kKindKeys[] = {"kind", "name", "pool"};

json member_of(const json& object, const char* name) {
    if (!object.is_object()) return {};
    const auto found = object.find(name);
    return found == object.end() ? json() : json(*found);
}

std::string text_member(const json& object, const std::string& name) {
    const json value = member_of(object, name.c_str());
    return value.is_string() ? value.get<std::string>() : std::string{};
}

// Fields with other names in the object than in the document.
void rename(json& object, const char* from, const char* to) {
    if (!object.is_object() || !object.contains(from)) return;
    json value = object[from];
    object.erase(from);
    object[to] = std::move(value);
}

json nodes_to_list(const json& map) {
    json list = json::array();
    for (const auto& [name, facts] : map.items()) {
        json node = facts;
        node["name"] = name;
        list.push_back(std::move(node));
    }
    return list;
}

json flat_pool(const std::string& name, const json& spec) {
    json flat{{"kind", "pool"}, {"name", name}};
    for (const char* key : {"description", "gpuTypes", "limits", "nodes"}) {
        if (const json value = member_of(spec, key); !value.is_null()) flat[key] = value;
    }
    rename(flat, "limits", "quota");
    rename(flat, "gpuTypes", "gpuType");
    return flat;
}

// The part of a Queue's name behind that of its pool.
std::string queue_name(const std::string& name, const std::string& pool) {
    return name.starts_with(pool + ".") ? name.substr(pool.size() + 1) : std::string{};
}

json flat_queue(const std::string& name, const json& spec) {
    json flat = spec.is_object() ? spec : json::object();
    const std::string written = text_member(spec, "pool");
    const std::string pool = written.empty() ? kDefaultPool : written;
    flat["kind"] = "queue";
    flat["pool"] = pool;
    flat["name"] = queue_name(name, pool);
    return flat;
}

// The number that a limit of whole devices is; nullopt: it is none.
std::optional<std::int64_t> whole_number(const json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_string()) return std::nullopt;
    const std::string text = value.get<std::string>();
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// The vendors' limits are each for all GPUs, because a quota counts them together: the largest one.
json gpus_of(const json& hard) {
    json most;
    std::int64_t number = -1;
    for (const GpuVendor& vendor : gpu_vendors()) {
        const json value = member_of(hard, ("requests." + std::string{vendor.resource}).c_str());
        if (value.is_null()) continue;
        const std::optional<std::int64_t> of = whole_number(value);
        if (!of) return value;  // the reader of the document says what is wrong
        if (*of > number) most = std::to_string(*of);
        number = std::max(number, *of);
    }
    return most;
}

json flat_quota(const json& metadata, const json& spec, const LabelKeys& labels) {
    const json hard = member_of(spec, "hard");
    json flat{{"kind", "quota"},
              {"name", text_member(member_of(metadata, "labels"), labels.prefix() + "/quota")},
              {"namespace", text_member(metadata, "namespace")}};
    for (const char* key : {"cpu", "memory"}) {
        json value = member_of(hard, (std::string{"requests."} + key).c_str());
        if (value.is_null()) value = member_of(hard, key);
        if (!value.is_null()) flat[key] = value;
    }
    if (const json gpus = gpus_of(hard); !gpus.is_null()) flat["gpu"] = gpus;
    if (const json pods = member_of(hard, "pods"); !pods.is_null()) {
        const std::optional<std::int64_t> number = whole_number(pods);
        flat["pods"] = number ? json(*number) : pods;
    }
    return flat;
}

json annotations_of(const std::string& description, const LabelKeys& labels) {
    json annotations{{labels.prefix() + "/policy-source", "api"}};
    if (!description.empty()) annotations[labels.prefix() + "/description"] = description;
    return annotations;
}

json flat_document(PolicyKind kind, const json& metadata, const json& spec,
                   const LabelKeys& labels) {
    const std::string name = text_member(metadata, "name");
    if (kind == PolicyKind::pool) return flat_pool(name, spec);
    if (kind == PolicyKind::queue) return flat_queue(name, spec);
    json flat = kind == PolicyKind::quota ? flat_quota(metadata, spec, labels)
                                          : json{{"kind", "namespace"}, {"name", name}};
    const std::string description =
        text_member(member_of(metadata, "annotations"), labels.prefix() + "/description");
    if (!description.empty()) flat["description"] = description;
    return flat;
}

void read_document(PolicyKind kind, const json& flat, PolicyReading& reading) {
    if (kind == PolicyKind::queue && flat["name"].get<std::string>().empty()) {
        reading.problem = "metadata.name must be POOL.QUEUE, where POOL is spec.pool, as in " +
                          flat["pool"].get<std::string>() + ".chat";
        return;
    }
    const Result<wire::Document> document =
        wire::parse_json(flat.dump(-1, ' ', false, json::error_handler_t::replace));
    if (!document) {
        reading.problem = document.error().message;
        return;
    }
    Result<config::ObjectReading> read = config::read_objects(*document, kind);
    if (!read) {
        reading.problem = read.error().message;
        return;
    }
    if (read->drafts.size() != 1) {
        reading.problem = "it describes no object";
        return;
    }
    reading.key = read->drafts.front().key;
    reading.document = read->drafts.front().document;
}

json pool_spec(const json& document) {
    json spec{{"nodes", nodes_to_list(member_of(document, "nodes"))}};
    for (const char* key : {"description", "gpuType", "quota"}) {
        if (document.contains(key)) spec[key] = document[key];
    }
    rename(spec, "quota", "limits");
    rename(spec, "gpuType", "gpuTypes");
    return spec;
}

json quota_hard(const json& document) {
    json hard = json::object();
    for (const char* key : {"cpu", "memory"}) {
        if (document.contains(key)) hard[key] = document[key];
    }
    if (document.contains("pods")) hard["pods"] = document["pods"].dump();
    if (!document.contains("gpu")) return hard;
    for (const GpuVendor& vendor : gpu_vendors()) {
        hard["requests." + std::string{vendor.resource}] = document["gpu"];
    }
    return hard;
}

}  // namespace

const PolicyResource& policy_resource(PolicyKind kind) {
    return kPolicyResources[static_cast<std::size_t>(kind)];
}

std::string policy_path(PolicyKind kind) {
    const PolicyResource& of = policy_resource(kind);
    return std::string{of.root} + "/" + std::string{of.resource};
}

std::string policy_selector(PolicyKind kind, const LabelKeys& labels) {
    if (kind == PolicyKind::quota) return labels.prefix() + "/quota";
    if (kind == PolicyKind::name_space) return labels.prefix() + "/namespace=true";
    return "";
}

std::optional<PolicyReading> read_policy_object(PolicyKind kind, std::string_view object,
                                                const LabelKeys& labels) {
    const json whole = json::parse(object, nullptr, false);
    const json metadata = member_of(whole, "metadata");
    const std::string name = text_member(metadata, "name");
    if (name.empty()) return std::nullopt;
    PolicyReading reading;
    const json annotations = member_of(metadata, "annotations");
    reading.source = text_member(annotations, labels.prefix() + "/policy-source") == "api"
                         ? PolicySource::api
                         : PolicySource::crd;
    reading.was_made_here = text_member(member_of(metadata, "labels"), kManagedBy) == kGpuctl;
    reading.created_at = parse_object_time(text_member(metadata, "creationTimestamp"));
    reading.is_deleting = !member_of(metadata, "deletionTimestamp").is_null();
    if (const json number = member_of(metadata, "generation"); number.is_number_integer()) {
        reading.generation = number.get<std::int64_t>();
    }
    reading.status = member_of(whole, "status");
    read_document(kind, flat_document(kind, metadata, member_of(whole, "spec"), labels), reading);
    return reading;
}

json policy_manifest(const PolicyKey& key, const std::string& text, const LabelKeys& labels) {
    const json document = json::parse(text, nullptr, false);
    const PolicyResource& of = policy_resource(key.kind);
    const bool is_annotated = !of.is_own;  // an own kind has a field for it
    json object{{"apiVersion", of.api_version}, {"kind", of.api_kind}};
    json& metadata = object["metadata"];
    metadata["annotations"] =
        annotations_of(is_annotated ? text_member(document, "description") : "", labels);
    metadata["labels"][kManagedBy] = kGpuctl;
    switch (key.kind) {
        case PolicyKind::pool:
            metadata["name"] = key.name;
            object["spec"] = pool_spec(document);
            break;
        case PolicyKind::queue: {
            std::string name = key.name;
            std::replace(name.begin(), name.end(), '/', '.');
            metadata["name"] = name;
            json spec = document;
            for (const char* known : kKindKeys) spec.erase(known);
            spec["pool"] = key.name.substr(0, key.name.find('/'));
            object["spec"] = std::move(spec);
            break;
        }
        case PolicyKind::quota: {
            const std::string quota = text_member(document, "name");
            metadata["name"] = quota + "-" + key.name;
            metadata["namespace"] = key.name;
            metadata["labels"][labels.prefix() + "/quota"] = quota;
            metadata["labels"][labels.prefix() + "/namespace"] = key.name;
            object["spec"]["hard"] = quota_hard(document);
            break;
        }
        case PolicyKind::name_space:
            metadata["name"] = key.name;
            metadata["labels"][labels.prefix() + "/namespace"] = "true";
            break;
    }
    return object;
}

json merge_patch_between(const json& before, const json& after) {
    json patch = json::object();
    for (const auto& [key, value] : after.items()) {
        const auto had = before.find(key);
        if (had == before.end()) {
            patch[key] = value;
        } else if (*had != value) {
            patch[key] =
                had->is_object() && value.is_object() ? merge_patch_between(*had, value) : value;
        }
    }
    for (const auto& [key, value] : before.items()) {
        if (!after.contains(key)) patch[key] = nullptr;
    }
    return patch;
}

}  // namespace gpuctl::k8s
