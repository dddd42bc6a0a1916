#include "k8s/workload/workload.hpp"

#include <algorithm>

#include "k8s/workload/workload_parts.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

// Kubernetes allows 256 KiB of annotations in all; the journal stores text of any size.
constexpr std::size_t kSourceBytesMax = 200u << 10;

Json workload_metadata(const JobRecord& job, const WorkloadSettings& settings) {
    const JobSpec& spec = job.spec;
    Json labels = common_labels(spec, settings);
    labels[settings.labels.text(OwnKey::job_uid)] = job.uid;
    Json annotations = Json::object();
    if (!spec.description.empty()) {
        annotations[settings.labels.text(OwnKey::description)] = spec.description;
    }
    if (!job.source.empty() && job.source.size() <= kSourceBytesMax) {
        annotations[settings.labels.text(OwnKey::source)] = job.source;
    }
    Json metadata = {{"name", spec.key.name},
                     {"namespace", spec.key.namespace_name},
                     {"labels", std::move(labels)}};
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    add_user_metadata(metadata, spec);
    return metadata;
}

// Indexed if its name has room, so that every rank has a fixed number; disruptions do not count as
// failures (podFailurePolicy), and a replacement is created only when the old pod has released its
// GPUs (podReplacementPolicy).
Json job_spec(const JobRecord& job, const WorkloadSettings& settings) {
    const Json disrupted = {{"type", "DisruptionTarget"}, {"status", "True"}};
    const Json ignore = {{"action", "Ignore"}, {"onPodConditions", Json::array({disrupted})}};
    return {{"parallelism", job.spec.replicas_max},
            {"completions", job.spec.replicas_max},
            {"completionMode", is_indexed(job.spec) ? "Indexed" : "NonIndexed"},
            {"backoffLimit", 3},
            {"ttlSecondsAfterFinished", kFinishedJobKept.ms() / 1'000},
            {"podReplacementPolicy", "Failed"},
            {"podFailurePolicy", {{"rules", Json::array({ignore})}}},
            {"template", pod_template(job, settings)}};
}

Json replicated_spec(const JobRecord& job, const WorkloadSettings& settings) {
    const bool notebook = job.spec.kind == JobKind::notebook;
    Json spec = {{"replicas", notebook ? 1 : job.spec.service.replicas}};
    if (notebook) spec["serviceName"] = service_name(job.spec);
    spec["selector"] = {{"matchLabels", {{"app", job.spec.key.name}}}};
    spec["template"] = pod_template(job, settings);
    return spec;
}

bool is_dns_label(std::string_view text) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back()) &&
           std::all_of(text.begin(), text.end(), [&](char c) { return plain(c) || c == '-'; });
}

std::optional<Error> cannot_ask(const JobSpec& spec) {
    const auto refuse = [&](std::string why) {
        return make_error(
            ErrorCode::ValidationFailed,
            "job " + to_string(spec.key) + " cannot be created in Kubernetes: " + why);
    };
    if (!is_addressable(spec.key)) {
        return refuse(
            "its name and its namespace must be DNS labels (lower-case letters, digits "
            "and hyphens, at most 63)");
    }
    if (spec.gpu.mode == GpuMode::shared && spec.gpu.count == 0) {
        return refuse(
            "sharing all GPUs of a node is not supported yet; request a part such as 0.5, shares "
            "such as 2(vgpu) or whole GPUs");
    }
    if (spec.gpu.mode == GpuMode::fraction && visible_devices_variable(spec).empty()) {
        return refuse("parts of GPUs of vendor " + spec.gpu.vendor +
                      " cannot be made visible to a container; request whole GPUs");
    }
    if (const std::string path = path_mounted_twice(spec); !path.empty()) {
        return refuse("its storage mounts " + path + " twice; give each volume a path of its own");
    }
    std::vector<std::string> types = spec.gpu_types_next;
    types.push_back(gpu_model_of(spec));
    for (const std::string& type : types) {
        if (is_label_value(type)) continue;
        return refuse("the GPU type '" + type + "' cannot be a node label's value");
    }
    return std::nullopt;
}

}  // namespace

void add_user_metadata(Json& metadata, const JobSpec& spec) {
    for (const auto& [key, value] : spec.extras.labels) metadata["labels"].emplace(key, value);
    for (const auto& [key, value] : spec.extras.annotations) {
        metadata["annotations"].emplace(key, value);
    }
}

Json shared_labels(const JobSpec& spec, std::string_view component) {
    return {{"app.kubernetes.io/managed-by", "gpuctl"},
            {"app.kubernetes.io/name", spec.key.name},
            {"app.kubernetes.io/component", component}};
}

Json common_labels(const JobSpec& spec, const WorkloadSettings& settings) {
    const LabelKeys& keys = settings.labels;
    Json labels = shared_labels(spec, to_string(spec.kind));
    labels[keys.text(OwnKey::job_type)] = to_string(spec.kind);
    labels[keys.text(OwnKey::name)] = spec.key.name;
    labels[keys.text(OwnKey::namespace_name)] = spec.key.namespace_name;
    labels[keys.text(OwnKey::pool)] = pool_of(spec);
    labels[keys.text(OwnKey::priority)] = to_string(spec.priority);
    if (!spec.queue.empty()) labels[keys.text(OwnKey::queue)] = spec.queue;
    if (const std::string type = gpu_model_of(spec); !type.empty()) {
        labels[keys.text(OwnKey::gpu_type)] = type;
    }
    if (spec.kind == JobKind::compute) {
        labels[keys.text(OwnKey::port)] = std::to_string(spec.service.port);
    }
    return labels;
}

bool is_addressable(const ObjectKey& job) {
    return is_dns_label(job.namespace_name) && is_dns_label(job.name);
}

WorkloadPaths workload_paths(JobKind kind, const ObjectKey& job) {
    const std::string space = "/namespaces/" + net::percent_encode(job.namespace_name) + "/";
    const std::string name = net::percent_encode(job.name);
    WorkloadPaths paths;
    paths.service = "/api/v1" + space + "services/svc-" + name;
    paths.config_map = "/api/v1" + space + "configmaps/" + name + "-deepspeed";
    paths.claims = "/api/v1" + space + "persistentvolumeclaims";
    switch (kind) {
        case JobKind::training:
            paths.api_version = "batch/v1";
            paths.kind = "Job";
            paths.object = "/apis/batch/v1" + space + "jobs/" + name;
            break;
        case JobKind::inference:
        case JobKind::compute:
            paths.api_version = "apps/v1";
            paths.kind = "Deployment";
            paths.object = "/apis/apps/v1" + space + "deployments/" + name;
            break;
        case JobKind::notebook:
            paths.api_version = "apps/v1";
            paths.kind = "StatefulSet";
            paths.object = "/apis/apps/v1" + space + "statefulsets/" + name;
            break;
    }
    return paths;
}

Result<std::string> workload_body(const JobRecord& job, const WorkloadSettings& settings) {
    if (auto error = cannot_ask(job.spec)) return std::move(*error);
    const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
    const Json body = {
        {"apiVersion", paths.api_version},
        {"kind", paths.kind},
        {"metadata", workload_metadata(job, settings)},
        {"spec", is_gang(job.spec) ? job_spec(job, settings) : replicated_spec(job, settings)}};
    // Invalid UTF-8 becomes replacement characters instead of an exception.
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool needs_service(const JobSpec& spec) { return !is_gang(spec) || has_ranks(spec); }

Json owned_metadata(const JobRecord& job, const WorkloadSettings& settings, std::string name,
                    std::string_view owner_uid) {
    const JobSpec& spec = job.spec;
    const LabelKeys& keys = settings.labels;
    const WorkloadPaths paths = workload_paths(spec.kind, spec.key);
    Json labels = shared_labels(spec, to_string(spec.kind));
    labels[keys.text(OwnKey::job_type)] = to_string(spec.kind);
    labels[keys.text(OwnKey::job_uid)] = job.uid;
    labels[keys.text(OwnKey::name)] = spec.key.name;
    labels[keys.text(OwnKey::namespace_name)] = spec.key.namespace_name;
    labels[keys.text(OwnKey::pool)] = pool_of(spec);
    Json metadata = {{"name", std::move(name)},
                     {"namespace", spec.key.namespace_name},
                     {"labels", std::move(labels)}};
    if (!spec.description.empty()) {
        metadata["annotations"] = {{keys.text(OwnKey::description), spec.description}};
    }
    add_user_metadata(metadata, spec);
    // Without blockOwnerDeletion: it affects foreground deletion only, and some clusters require
    // permissions on the owner's finalizers to set it.
    if (!owner_uid.empty())
        metadata["ownerReferences"] = Json::array({{{"apiVersion", paths.api_version},
                                                    {"kind", paths.kind},
                                                    {"name", spec.key.name},
                                                    {"uid", owner_uid},
                                                    {"controller", true}}});
    return metadata;
}

std::string service_body(const JobRecord& job, const WorkloadSettings& settings,
                         std::string_view owner_uid) {
    const JobSpec& spec = job.spec;
    Json metadata = owned_metadata(job, settings, service_name(spec), owner_uid);
    Json service;
    if (is_gang(spec)) {
        service = {{"clusterIP", "None"},
                   {"publishNotReadyAddresses", true},
                   {"selector", {{"batch.kubernetes.io/job-name", spec.key.name}}},
                   {"ports", Json::array({{{"name", "master"},
                                           {"port", 29'500},
                                           {"targetPort", 29'500},
                                           {"protocol", "TCP"}}})}};
    } else {
        service = {{"type", spec.service.type},
                   {"selector", {{"app", spec.key.name}}},
                   {"ports", Json::array({{{"name", "main"},
                                           {"port", spec.service.port},
                                           {"targetPort", container_port(spec)},
                                           {"protocol", spec.service.protocol}}})}};
    }
    const Json body = {{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata", std::move(metadata)},
                       {"spec", std::move(service)}};
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string priority_class_name(JobPriority priority) {
    return "gpuctl-" + std::string(to_string(priority));
}

std::string priority_class_body(JobPriority priority) {
    const Json body = {
        {"apiVersion", "scheduling.k8s.io/v1"},
        {"kind", "PriorityClass"},
        {"metadata",
         {{"name", priority_class_name(priority)},
          {"labels",
           {{"app.kubernetes.io/managed-by", "gpuctl"},
            {"app.kubernetes.io/name", "gpuctl"},
            {"app.kubernetes.io/component", "priority"}}}}},
        {"value", priority_value(priority)},
        {"globalDefault", false},
        {"preemptionPolicy", priority == JobPriority::low ? "Never" : "PreemptLowerPriority"},
        {"description",
         "Priority of gpuctl jobs with priority: " + std::string(to_string(priority))}};
    return body.dump();
}

}  // namespace gpuctl::k8s
