// storage.<name> of a job: PersistentVolumeClaims, their mounts, and claims that exist already.

#include <algorithm>
#include <set>

#include "k8s/workload/workload_parts.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::k8s {

namespace {

// One pod: a volume that only one node mounts is enough. Several: every node must mount it.
const char* access_mode_of(const JobSpec& spec) {
    return spec.replicas_max > 1 ? "ReadWriteMany" : "ReadWriteOnce";
}

std::string text_at(const Json& object, const char* pointer) {
    const Json::json_pointer at{pointer};
    if (!object.is_object() || !object.contains(at) || !object[at].is_string()) return {};
    return object[at].get<std::string>();
}

std::string name_of(const JobSpec& spec, const VolumeClaim& claim) {
    return "PersistentVolumeClaim " + spec.key.namespace_name + "/" + claim_name(spec, claim);
}

}  // namespace

std::string claim_name(const JobSpec& spec, const VolumeClaim& claim) {
    return spec.key.name + "-" + claim.name;
}

std::string claim_body(const JobRecord& job, const VolumeClaim& claim,
                       const WorkloadSettings& settings) {
    const LabelKeys& keys = settings.labels;
    Json labels = shared_labels(job.spec, "storage");
    labels[keys.text(OwnKey::name)] = job.spec.key.name;
    labels[keys.text(OwnKey::namespace_name)] = job.spec.key.namespace_name;
    Json spec = {{"accessModes", Json::array({access_mode_of(job.spec)})},
                 {"resources", {{"requests", {{"storage", format_bytes(claim.size)}}}}}};
    // Without a class the cluster's default class makes the volume.
    if (!claim.storage_class.empty()) spec["storageClassName"] = claim.storage_class;
    const Json body = {{"apiVersion", "v1"},
                       {"kind", "PersistentVolumeClaim"},
                       {"metadata",
                        {{"name", claim_name(job.spec, claim)},
                         {"namespace", job.spec.key.namespace_name},
                         {"labels", std::move(labels)}}},
                       {"spec", std::move(spec)}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ClaimProblem problem_with_claim(std::string_view existing, const JobSpec& spec,
                                const VolumeClaim& claim, const LabelKeys& labels) {
    const Json object = Json::parse(existing, nullptr, false);
    const std::string name = name_of(spec, claim);
    const std::string key = "storage." + claim.name;
    const Json::json_pointer label =
        Json::json_pointer{"/metadata/labels"} / labels.text(OwnKey::name);
    const std::string made_for =
        object.is_object() && object.contains(label) && object[label].is_string()
            ? object[label].get<std::string>()
            : std::string{};
    if (text_at(object, "/metadata/labels/app.kubernetes.io~1managed-by") != "gpuctl" ||
        made_for != spec.key.name) {
        return {name + " exists already and " +
                (made_for.empty() ? "was not created by gpuctl" : "belongs to job " + made_for) +
                "; choose another name for " + key + " or for the job"};
    }
    if (!text_at(object, "/metadata/deletionTimestamp").empty()) {
        return {name + " is being deleted; the job can be created when it is gone", true};
    }
    const auto size = parse_bytes(text_at(object, "/spec/resources/requests/storage"));
    if (size && *size != claim.size) {
        return {name + " exists with " + format_bytes(*size) + " and " + key + ".size is " +
                format_bytes(claim.size) + "; write size: " + format_bytes(*size) +
                " to use its data, or choose another name for the volume"};
    }
    const std::string storage_class = text_at(object, "/spec/storageClassName");
    if (!claim.storage_class.empty() && storage_class != claim.storage_class) {
        return {name + " exists with storage class \"" + storage_class + "\" and " + key +
                ".storageClass is \"" + claim.storage_class +
                "\"; write the class that it has, or choose another name for the volume"};
    }
    const Json::json_pointer modes{"/spec/accessModes"};
    const bool is_shared = object.contains(modes) && object[modes].is_array() &&
                           std::find(object[modes].begin(), object[modes].end(), "ReadWriteMany") !=
                               object[modes].end();
    if (spec.replicas_max > 1 && !is_shared) {
        return {name + " was created for one pod and the job has " +
                std::to_string(spec.replicas_max) +
                "; choose another name for the volume, which is then made for several"};
    }
    return {};
}

void add_claims(const JobSpec& spec, Mounts& mounts) {
    for (std::size_t i = 0; i < spec.claims.size(); ++i) {
        const std::string name = "claim-" + std::to_string(i);
        mounts.volumes.push_back(
            {{"name", name},
             {"persistentVolumeClaim", {{"claimName", claim_name(spec, spec.claims[i])}}}});
        mounts.mounts.push_back({{"name", name}, {"mountPath", spec.claims[i].mount_path}});
    }
}

std::string path_mounted_twice(const JobSpec& spec) {
    std::set<std::string> paths(spec.workdirs.begin(), spec.workdirs.end());
    for (const VolumeClaim& claim : spec.claims) {
        if (!paths.insert(claim.mount_path).second) return claim.mount_path;
    }
    return {};
}

}  // namespace gpuctl::k8s
