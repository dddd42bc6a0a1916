#pragma once
// Shared by the workload_*.cpp files and included only there.

#include <nlohmann/json.hpp>
#include <string>

#include "k8s/workload/workload.hpp"

namespace gpuctl::k8s {

using Json = nlohmann::ordered_json;

inline std::string service_name(const JobSpec& spec) { return "svc-" + spec.key.name; }

// Training runs as one gang of indexed ranks; everything else as replicas behind a Service.
inline bool is_gang(const JobSpec& spec) { return spec.kind == JobKind::training; }
inline bool has_ranks(const JobSpec& spec) { return is_gang(spec) && spec.replicas_max > 1; }

// The index of a rank is part of its host name, and Kubernetes refuses an Indexed Job whose host
// names would have more than 63 characters. A job with one rank and a longer name has no index.
inline bool is_indexed(const JobSpec& spec) {
    constexpr std::size_t kIndexedNameMax = 61;
    return has_ranks(spec) || spec.key.name.size() <= kIndexedNameMax;
}

inline std::int32_t container_port(const JobSpec& spec) {
    return spec.service.target_port != 0 ? spec.service.target_port : spec.service.port;
}

inline std::string pool_of(const JobSpec& spec) {
    return spec.pool.empty() ? "default" : spec.pool;
}

Json container_environment(const JobSpec& spec, const WorkloadSettings& settings,
                           const PodDefaults& defaults);
// The variable that makes GPUs visible to a container, by vendor; empty: the vendor has none.
std::string visible_devices_variable(const JobSpec& spec);
Json pod_template(const JobRecord& job, const WorkloadSettings& settings);

// The labels and annotations of the job document; the metadata's own are preferred.
void add_user_metadata(Json& metadata, const JobSpec& spec);

// Labels that workload, pods and Service share.
Json common_labels(const JobSpec& spec, const WorkloadSettings& settings);
// Labels of every object of the job, as other tools read them: managed-by, name, component.
Json shared_labels(const JobSpec& spec, std::string_view component);
// Metadata of an object that is garbage-collected with the workload.
Json owned_metadata(const JobRecord& job, const WorkloadSettings& settings, std::string name,
                    std::string_view owner_uid);

// The volumes of a pod and where its container mounts them.
struct Mounts {
    Json volumes = Json::array();
    Json mounts = Json::array();
};
void add_claims(const JobSpec& spec, Mounts& mounts);
void add_deepspeed_files(const JobSpec& spec, Mounts& mounts);
// Wraps the command of the container so that it finds our DeepSpeed files.
void offer_deepspeed_files(const JobSpec& spec, Json& container);
// Two volumes of the job with one path; empty: none.
std::string path_mounted_twice(const JobSpec& spec);

}  // namespace gpuctl::k8s
