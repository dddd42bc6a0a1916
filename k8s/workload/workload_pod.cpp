// The pod template of a job.

#include <algorithm>
#include <set>

#include "k8s/workload/workload_parts.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::k8s {

namespace {

Json container_resources(const JobSpec& spec) {
    Json amounts = {{"cpu", format_cpu(spec.cpu)}, {"memory", format_bytes(spec.memory)}};
    if (spec.gpu.count > 0 && !spec.gpu.resource.empty()) {
        amounts[spec.gpu.resource] = std::to_string(spec.gpu.count);
    }
    return {{"requests", amounts}, {"limits", amounts}};
}

Json probe(const JobSpec& spec, int initial_delay_seconds) {
    Json probe = {
        {"httpGet", {{"path", spec.service.health_check}, {"port", container_port(spec)}}},
        {"initialDelaySeconds", initial_delay_seconds},
        {"periodSeconds", 10}};
    if (spec.service.timeout.ms() > 0) {
        probe["timeoutSeconds"] = std::max<std::int64_t>(1, spec.service.timeout.ms() / 1000);
    }
    return probe;
}

// Only a path that is certainly a file is mounted as one: /etc/nginx/conf.d, /models/qwen2.5-7b and
// /data/v1.0 are directories. A trailing slash always means a directory.
bool looks_like_file(std::string_view path) {
    static constexpr std::string_view extensions[] = {
        "json",    "jsonl", "yaml", "yml",  "toml", "ini",    "cfg", "conf", "cnf",  "env",
        "txt",     "md",    "csv",  "tsv",  "xml",  "html",   "log", "py",   "sh",   "ipynb",
        "parquet", "arrow", "npy",  "npz",  "bin",  "pt",     "pth", "ckpt", "onnx", "safetensors",
        "gguf",    "h5",    "pkl",  "db",   "zip",  "tar",    "gz",  "tgz",  "zst",  "whl",
        "pem",     "crt",   "key",  "sock", "so",   "service"};
    const std::string_view last = path.substr(path.rfind('/') + 1);
    const std::size_t dot = last.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return false;
    const std::string_view extension = last.substr(dot + 1);
    return std::find(std::begin(extensions), std::end(extensions), extension) !=
           std::end(extensions);
}

// The index counts skipped empty paths too, so that a volume's name does not depend on the paths
// before it.
Mounts workdir_mounts(const JobSpec& spec) {
    Mounts result;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec.workdirs.size(); ++i) {
        std::string path = spec.workdirs[i];
        const bool directory = path.ends_with('/');
        while (path.size() > 1 && path.ends_with('/')) path.pop_back();
        if (path.empty() || !seen.insert(path).second) continue;
        const std::string name = "workdir-" + std::to_string(i);
        // A missing file must be an error for the user, not an empty file.
        const char* type = !directory && looks_like_file(path) ? "File" : "DirectoryOrCreate";
        result.volumes.push_back({{"name", name}, {"hostPath", {{"path", path}, {"type", type}}}});
        result.mounts.push_back({{"name", name}, {"mountPath", path}});
    }
    return result;
}

Json container(const JobSpec& spec, const Json& mounts, const WorkloadSettings& settings,
               const PodDefaults& defaults) {
    Json container = {{"name", "main"}, {"image", spec.image}, {"imagePullPolicy", "IfNotPresent"}};
    if (!spec.command.empty()) container["command"] = spec.command;
    if (!spec.args.empty()) container["args"] = spec.args;
    offer_deepspeed_files(spec, container);
    if (Json environment = container_environment(spec, settings, defaults); !environment.empty()) {
        container["env"] = std::move(environment);
    }
    container["resources"] = container_resources(spec);
    if (!is_gang(spec)) {
        container["ports"] = Json::array(
            {{{"containerPort", container_port(spec)}, {"protocol", spec.service.protocol}}});
    }
    const bool probed = spec.kind == JobKind::inference || spec.kind == JobKind::compute;
    if (probed && !spec.service.health_check.empty()) {
        container["livenessProbe"] = probe(spec, 30);
        container["readinessProbe"] = probe(spec, 5);
    }
    if (!mounts.empty()) container["volumeMounts"] = mounts;
    return container;
}

// Jobs of a pool run only on its nodes, jobs without a pool on none of any pool.
void place(Json& pod, const JobSpec& spec, const LabelKeys& labels) {
    const std::string pool_key = labels.text(OwnKey::pool);
    const std::string pool = pool_of(spec);
    Json selector = Json::object();
    Json required = Json::array();  // of one term: all requirements
    if (pool != "default") selector[pool_key] = pool;
    if (!spec.gpu_types_next.empty()) {
        Json types = Json::array({gpu_model_of(spec)});
        for (const std::string& type : spec.gpu_types_next) types.push_back(type);
        required.push_back(
            {{"key", labels.text(OwnKey::gpu_type)}, {"operator", "In"}, {"values", types}});
    } else if (const std::string type = gpu_model_of(spec); !type.empty()) {
        selector[labels.text(OwnKey::gpu_type)] = type;
    }
    // The device plugin allocates whole GPUs and does not know which are shared: nodes for
    // fractions have this label and a taint of the same name that repels all other pods.
    const bool is_part = spec.gpu.mode == GpuMode::fraction;
    if (is_part) selector[labels.text(OwnKey::gpu_sharing)] = "true";
    if (!selector.empty()) pod["nodeSelector"] = std::move(selector);
    if (pool == "default") {
        required.push_back({{"key", pool_key}, {"operator", "DoesNotExist"}});
    } else {
        // The pool's nodes may have a taint that repels pods of other pools.
        pod["tolerations"] = Json::array({{{"key", pool_key},
                                           {"operator", "Equal"},
                                           {"value", pool},
                                           {"effect", "NoSchedule"}}});
    }
    if (!required.empty()) {
        const Json term = {{"matchExpressions", required}};
        pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
            {"nodeSelectorTerms", Json::array({term})}};
    }
    if (is_part) {
        pod["tolerations"].push_back({{"key", labels.text(OwnKey::gpu_sharing)},
                                      {"operator", "Exists"},
                                      {"effect", "NoSchedule"}});
    }
}

// What the operator configured for the pool's pods.
void apply_defaults(Json& pod, const PodDefaults& defaults) {
    if (!defaults.service_account.empty()) pod["serviceAccountName"] = defaults.service_account;
    for (const PodToleration& one : defaults.tolerations) {
        Json toleration = Json::object();
        if (!one.key.empty()) toleration["key"] = one.key;
        toleration["operator"] = one.value.empty() ? "Exists" : "Equal";
        if (!one.value.empty()) toleration["value"] = one.value;
        if (!one.effect.empty()) toleration["effect"] = one.effect;
        Json& list = pod["tolerations"];
        if (std::find(list.begin(), list.end(), toleration) == list.end()) {
            list.push_back(std::move(toleration));
        }
    }
    Json security = Json::object();
    const auto put_id = [&security](const char* key, std::int64_t id) {
        if (id >= 0) security[key] = id;
    };
    put_id("runAsUser", defaults.run_as_user);
    put_id("runAsGroup", defaults.run_as_group);
    put_id("fsGroup", defaults.fs_group);
    if (defaults.run_as_non_root) security["runAsNonRoot"] = true;
    if (!defaults.seccomp_profile.empty()) {
        security["seccompProfile"] = {{"type", defaults.seccomp_profile}};
    }
    if (!security.empty()) pod["securityContext"] = std::move(security);
}

Json template_metadata(const JobSpec& spec, const WorkloadSettings& settings) {
    Json labels = common_labels(spec, settings);
    Json annotations = Json::object();
    if (is_gang(spec)) {
        labels[settings.labels.text(OwnKey::gang)] = spec.key.name;
        annotations[settings.labels.text(OwnKey::gang_min)] = std::to_string(spec.replicas_min);
    } else {
        labels["app"] = spec.key.name;
    }
    if (spec.preemptible != (spec.priority == JobPriority::low)) {  // else the default applies
        annotations[settings.labels.text(OwnKey::preemptible)] =
            spec.preemptible ? "true" : "false";
    }
    const auto put_seconds = [&](OwnKey key, Duration value) {
        if (value <= Duration{}) return;
        annotations[settings.labels.text(key)] = std::to_string((value.ms() + 999) / 1000);
    };
    put_seconds(OwnKey::checkpoint_interval_seconds, spec.checkpoint_interval);
    put_seconds(OwnKey::restart_cost_seconds, spec.restart_cost);
    if (!spec.gpu_types_next.empty()) {
        std::string types = gpu_model_of(spec);
        for (const std::string& type : spec.gpu_types_next) types += "," + type;
        annotations[settings.labels.text(OwnKey::gpu_type)] = types;
    }
    if (spec.gpu.mode == GpuMode::fraction) {
        annotations[settings.labels.text(OwnKey::gpu_fraction)] = format_gpus(spec.gpu.amount);
        annotations[settings.labels.text(OwnKey::gpu_resource)] = spec.gpu.resource;
    }
    const auto put_level = [&](OwnKey key, TopologyLevel level) {
        if (level == TopologyLevel::none) return;
        annotations[settings.labels.text(key)] = std::string{to_string(level)};
    };
    put_level(OwnKey::required_topology, spec.topology.required);
    put_level(OwnKey::preferred_topology, spec.topology.preferred);
    put_level(OwnKey::topology_spread, spec.topology.spread);
    if (!spec.description.empty()) {
        annotations[settings.labels.text(OwnKey::description)] = spec.description;
    }
    Json metadata = {{"labels", std::move(labels)}};
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    add_user_metadata(metadata, spec);
    return metadata;
}

}  // namespace

Json pod_template(const JobRecord& job, const WorkloadSettings& settings) {
    const JobSpec& spec = job.spec;
    const PodDefaults defaults = pod_defaults_of(settings.pod_defaults, pool_of(spec));
    Mounts mounts = workdir_mounts(spec);
    add_claims(spec, mounts);
    add_deepspeed_files(spec, mounts);
    // Service links are variables named after every Service of the namespace, including those of
    // our other jobs: a job `vllm` would give each pod VLLM_PORT=tcp://..., and 1,000 jobs 7,000 of
    // them.
    Json pod = {{"schedulerName", settings.scheduler_name},
                {"enableServiceLinks", false},
                {"priorityClassName", priority_class_name(spec.priority)},
                {"restartPolicy", is_gang(spec) ? "Never" : "Always"}};
    // Counted from the pod's start on its node, so waiting in the queue does not count.
    if (is_gang(spec) && spec.run_time_max.ms() > 0) {
        pod["activeDeadlineSeconds"] = std::max<std::int64_t>(1, spec.run_time_max.ms() / 1000);
    }
    if (!spec.image_pull_secrets.empty()) {
        Json secrets = Json::array();
        for (const std::string& name : std::set<std::string>(spec.image_pull_secrets.begin(),
                                                             spec.image_pull_secrets.end())) {
            secrets.push_back({{"name", name}});
        }
        pod["imagePullSecrets"] = std::move(secrets);
    }
    place(pod, spec, settings.labels);
    apply_defaults(pod, defaults);
    if (has_ranks(spec)) pod["subdomain"] = service_name(spec);
    pod["containers"] = Json::array({container(spec, mounts.mounts, settings, defaults)});
    if (!mounts.volumes.empty()) pod["volumes"] = std::move(mounts.volumes);
    return {{"metadata", template_metadata(spec, settings)}, {"spec", std::move(pod)}};
}

}  // namespace gpuctl::k8s
