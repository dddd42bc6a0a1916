#include "k8s/workload/workload_update.hpp"

#include <nlohmann/json.hpp>

#include "k8s/client/client.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kJobNameBytesMax = 63;
constexpr std::string_view kRehearsed = "-dry-run";

std::string text_of(const Json& body) {
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int32_t replicas_of(const JobSpec& spec) {
    return spec.kind == JobKind::notebook ? 1 : spec.service.replicas;
}

std::string paused_key(const WorkloadSettings& settings) {
    return settings.labels.prefix() + "/" + std::string{kPausedReplicas};
}

// Merges into the object: null removes a member.
Json merge_of(const UpdateWorkload& order, const WorkloadSettings& settings,
              const Json& annotations) {
    Json body;
    body["metadata"] = {{"annotations", Json::object()}};
    Json& merged = body["metadata"]["annotations"];
    for (const auto& [name, value] : annotations.items()) merged[name] = value;
    if (order.job->spec.kind == JobKind::training) {
        body["spec"] = {{"suspend", order.paused}};
        return body;
    }
    const std::int32_t replicas = replicas_of(order.job->spec);
    // Not as Json{…}: in braces a text becomes a list of one text.
    merged[paused_key(settings)] = nullptr;
    if (order.paused) merged[paused_key(settings)] = std::to_string(replicas);
    body["spec"] = {{"replicas", order.paused ? 0 : replicas}};
    return body;
}

}  // namespace

Result<UpdateBody> update_body(const UpdateWorkload& order, const WorkloadSettings& settings,
                               std::string_view resource_version) {
    Result<std::string> made = workload_body(*order.job, settings);
    if (!made) return made.error();
    Json object = Json::parse(*made);
    const bool is_job = order.job->spec.kind == JobKind::training;
    UpdateBody out;
    if (order.part != WorkloadPart::whole || is_job) {
        Json merged =
            merge_of(order, settings, object["metadata"].value("annotations", Json::object()));
        merged["metadata"]["resourceVersion"] = resource_version;
        out.content_type = kMergePatch;
        out.text = text_of(merged);
        return out;
    }
    object["metadata"]["resourceVersion"] = resource_version;
    if (order.paused) {
        object["metadata"]["annotations"][paused_key(settings)] =
            std::to_string(replicas_of(order.job->spec));
        object["spec"]["replicas"] = 0;
    }
    out.content_type = kApplyPatch;
    out.text = text_of(object);
    out.overrides = true;
    return out;
}

std::string rehearsal_name(std::string_view job) {
    return std::string{job.substr(0, kJobNameBytesMax - kRehearsed.size())}.append(kRehearsed);
}

Result<std::string> rehearsal_body(const JobRecord& job, const WorkloadSettings& settings) {
    Result<std::string> made = workload_body(job, settings);
    if (!made) return made.error();
    Json object = Json::parse(*made);
    object["metadata"]["name"] = rehearsal_name(job.spec.key.name);
    return text_of(object);
}

}  // namespace gpuctl::k8s
