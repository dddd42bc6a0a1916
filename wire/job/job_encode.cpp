// JobSpec -> the canonical document. Optional members that equal their default are left out.

#include "scheduler/model/gpu/gpu_string.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "text/duration.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::wire {
namespace {

using Json = nlohmann::ordered_json;

void put_text(Json& object, const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
}

void put_duration(Json& object, const char* key, Duration value) {
    if (value.ms() != 0) object[key] = text::format_duration(value);
}

Json encode_header(const JobSpec& spec) {
    Json job;
    job["name"] = spec.key.name;
    put_text(job, "namespace", spec.key.namespace_name);
    job["priority"] = to_string(spec.priority);
    put_text(job, "description", spec.description);
    put_text(job, "queue", spec.queue);
    job["preemptible"] = spec.preemptible;
    put_duration(job, "maxRunTime", spec.run_time_max);
    put_duration(job, "expectedRunTime", spec.run_time_expected);
    Json checkpoint = Json::object();
    put_duration(checkpoint, "interval", spec.checkpoint_interval);
    put_duration(checkpoint, "restartCost", spec.restart_cost);
    if (!checkpoint.empty()) job["checkpoint"] = std::move(checkpoint);
    const JobExtras& extras = spec.extras;
    if (!extras.labels.empty()) job["labels"] = extras.labels;
    if (!extras.annotations.empty()) job["annotations"] = extras.annotations;
    if (extras.epochs != 0) job["epochs"] = extras.epochs;
    if (extras.batch_size != 0) job["batchSize"] = extras.batch_size;
    return job;
}

Json encode_environment(const JobSpec& spec) {
    Json environment;
    environment["image"] = spec.image;
    if (spec.image_pull_secrets.size() == 1) {
        environment["imagePullSecret"] = spec.image_pull_secrets.front();
    } else if (!spec.image_pull_secrets.empty()) {
        environment["imagePullSecret"] = spec.image_pull_secrets;
    }
    if (!spec.command.empty()) environment["command"] = spec.command;
    if (!spec.args.empty()) environment["args"] = spec.args;
    if (spec.environment.empty()) return environment;
    Json& list = environment["env"] = Json::array();
    for (const EnvironmentVariable& variable : spec.environment) {
        Json entry;
        entry["name"] = variable.name;
        Json source = variable.value_from_json.empty()
                          ? Json{}
                          : Json::parse(variable.value_from_json, nullptr, false);
        if (source.is_object()) {
            entry["valueFrom"] = std::move(source);
        } else {
            entry["value"] = variable.value;
        }
        list.push_back(std::move(entry));
    }
    return environment;
}

Json encode_service(const ServiceSpec& service) {
    const ServiceSpec defaults;
    Json result;
    result["replicas"] = service.replicas;
    result["port"] = service.port;
    if (service.target_port != 0) result["targetPort"] = service.target_port;
    if (service.protocol != defaults.protocol) result["protocol"] = service.protocol;
    if (service.type != defaults.type) result["type"] = service.type;
    put_text(result, "healthCheck", service.health_check);
    put_duration(result, "timeout", service.timeout);
    return result;
}

Json encode_resources(const JobSpec& spec) {
    Json resources;
    resources["pool"] = spec.pool.empty() ? std::string{kDefaultPool} : spec.pool;
    const std::string gpu = format_gpu_string(spec.gpu);
    if (gpu.find_first_not_of("0123456789") == std::string::npos) {
        resources["gpu"] = spec.gpu.count;
    } else {
        resources["gpu"] = gpu;
    }
    if (spec.gpu_types_next.empty()) {
        put_text(resources, "gpuType", spec.gpu_type);
    } else {
        Json& types = resources["gpuType"] = Json::array({spec.gpu_type});
        for (const std::string& type : spec.gpu_types_next) types.push_back(type);
    }
    put_text(resources, "gpuShare", spec.gpu_share);
    if (spec.cpu.value() % 1000 == 0) {
        resources["cpu"] = spec.cpu.value() / 1000;
    } else {
        resources["cpu"] = format_cpu(spec.cpu);
    }
    resources["memory"] = format_bytes(spec.memory);
    const bool several = spec.replicas_min == spec.replicas_max && spec.replicas_min != 1;
    if (spec.kind == JobKind::training && several) resources["nodeCount"] = spec.replicas_min;
    return resources;
}

Json encode_elastic(const JobSpec& spec) {
    Json elastic{{"minReplicas", spec.replicas_min}, {"maxReplicas", spec.replicas_max}};
    if (spec.speeds.empty()) return elastic;
    Json& speedup = elastic["speedup"] = Json::object();
    for (const SizeSpeed& size : spec.speeds) {
        Json& speed = speedup[std::to_string(size.ranks)];
        speed = size.milli / kSpeedOfOne;
        if (size.milli % kSpeedOfOne != 0) speed = static_cast<double>(size.milli) / kSpeedOfOne;
    }
    return elastic;
}

Json encode_placement(const TopologyRules& rules) {
    Json placement;
    const auto put = [](Json& object, const char* key, TopologyLevel level) {
        if (level != TopologyLevel::none) object[key] = to_string(level);
    };
    Json topology = Json::object();
    put(topology, "required", rules.required);
    put(topology, "preferred", rules.preferred);
    if (!topology.empty()) placement["topology"] = std::move(topology);
    put(placement, "spread", rules.spread);
    return placement;
}

Json encode_storage(const JobSpec& spec) {
    Json storage;
    if (!spec.workdirs.empty()) {
        Json& list = storage["workdirs"] = Json::array();
        for (const std::string& path : spec.workdirs) list.push_back(Json{{"path", path}});
    }
    for (const VolumeClaim& claim : spec.claims) {
        Json& entry = storage[claim.name];
        entry["mountPath"] = claim.mount_path;
        entry["size"] = format_bytes(claim.size);
        put_text(entry, "storageClass", claim.storage_class);
    }
    return storage;
}

Json encode_autoscaling(const Autoscaling& scaling) {
    Json result{{"enabled", scaling.enabled},
                {"minReplicas", scaling.replicas_min},
                {"maxReplicas", scaling.replicas_max}};
    const auto put = [&result](const char* key, std::int32_t percent) {
        if (percent != 0) result[key] = percent;
    };
    put("targetGpuUtilization", scaling.gpu_percent);
    put("targetMemoryUtilization", scaling.gpu_memory_percent);
    put("targetCpuUtilization", scaling.cpu_percent);
    return result;
}

Json encode_model(const ModelSource& model) {
    Json result{{"source", model.source}, {"name", model.name}};
    put_text(result, "version", model.version);
    put_text(result, "format", model.format);
    if (!model.cache) result["cache"] = false;
    return result;
}

}  // namespace

nlohmann::ordered_json encode_job(const JobSpec& spec) {
    Json document;
    document["kind"] = to_string(spec.kind);
    document["version"] = spec.version;
    document["job"] = encode_header(spec);
    document["environment"] = encode_environment(spec);
    if (spec.kind != JobKind::training) document["service"] = encode_service(spec.service);
    document["resources"] = encode_resources(spec);
    if (spec.replicas_min != spec.replicas_max) {
        document["elastic"] = encode_elastic(spec);
    }
    if (spec.topology.any()) {
        document["placement"] = encode_placement(spec.topology);
    } else if (spec.kind == JobKind::training && spec.replicas_max > 1) {
        // Without it, a server that prefers a rack for ranks would read it into the document.
        document["placement"]["topology"]["preferred"] = to_string(TopologyLevel::none);
    }
    Json storage = encode_storage(spec);
    if (!storage.empty()) document["storage"] = std::move(storage);
    const JobExtras& extras = spec.extras;
    if (extras.has_autoscaling) document["autoscaling"] = encode_autoscaling(extras.autoscaling);
    if (!extras.model.name.empty()) document["model"] = encode_model(extras.model);
    if (extras.resume_from_checkpoint) document["output"] = {{"resumeFromCheckpoint", true}};
    return document;
}

}  // namespace gpuctl::wire
