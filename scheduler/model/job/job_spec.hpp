#pragma once
// A job as its user wrote it, decoded, checked and completed with defaults by
// wire/job/job_document.cpp. Both adapters make pods from it: k8s/workload as API objects, sim/ on
// the simulated cluster.

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/job/job_extras.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl {

enum class JobKind : std::uint8_t { training, inference, notebook, compute };
BOOST_DESCRIBE_ENUM(JobKind, training, inference, notebook, compute)
constexpr std::string_view to_string(JobKind kind) {
    constexpr std::string_view names[] = {"training", "inference", "notebook", "compute"};
    return names[static_cast<std::size_t>(kind)];
}

constexpr std::optional<JobKind> job_kind_of(std::string_view name) {
    for (const JobKind kind :
         {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
        if (to_string(kind) == name) return kind;
    }
    return std::nullopt;
}

enum class JobPriority : std::uint8_t { low, medium, high };
BOOST_DESCRIBE_ENUM(JobPriority, low, medium, high)
constexpr std::string_view to_string(JobPriority priority) {
    constexpr std::string_view names[] = {"low", "medium", "high"};
    return names[static_cast<std::size_t>(priority)];
}
// PriorityClass values.
constexpr std::int32_t priority_value(JobPriority priority) {
    constexpr std::int32_t values[] = {100, 500'000, 1'000'000};
    return values[static_cast<std::size_t>(priority)];
}

enum class GpuMode : std::uint8_t { none, exclusive, fraction, shared, mig };
BOOST_DESCRIBE_ENUM(GpuMode, none, exclusive, fraction, shared, mig)

// One parsed GPU string. It applies to each pod.
struct GpuRequest {
    GpuMode mode = GpuMode::none;
    std::int64_t count = 0;       // whole devices, MIG slices or shares
    GpuMilli amount;              // of all of `count`: 1000 for each whole device
    std::optional<Bytes> memory;  // fraction by memory
    std::string vendor;           // canonical alias: nvidia, amd, ...
    std::string model;            // as written; empty: any
    std::string mig_profile;      // 1g.10gb
    std::string resource;         // Kubernetes resource name of the device
    GpuShare share{};  // share of a whole GPU of each device, if the resource does not state it
    friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(GpuRequest, (),
                      (mode, count, amount, memory, vendor, model, mig_profile, resource, share))

struct EnvironmentVariable {
    std::string name;
    std::string value;
    std::string value_from_json;  // Kubernetes valueFrom, passed through; empty: `value` counts
    friend auto operator<=>(const EnvironmentVariable&, const EnvironmentVariable&) = default;
};
BOOST_DESCRIBE_STRUCT(EnvironmentVariable, (), (name, value, value_from_json))

struct VolumeClaim {
    std::string name;
    std::string mount_path;
    Bytes size;
    std::string storage_class;
    friend auto operator<=>(const VolumeClaim&, const VolumeClaim&) = default;
};
BOOST_DESCRIBE_STRUCT(VolumeClaim, (), (name, mount_path, size, storage_class))

struct ServiceSpec {
    std::int32_t replicas = 1;
    std::int32_t port = 8000;
    std::int32_t target_port = 0;  // 0: same as port
    std::string protocol = "TCP";
    std::string type = "NodePort";
    std::string health_check;  // HTTP path; empty: no probes
    Duration timeout;          // probe timeout; 0: Kubernetes' default
    friend auto operator<=>(const ServiceSpec&, const ServiceSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(ServiceSpec, (),
                      (replicas, port, target_port, protocol, type, health_check, timeout))

// The speed of an elastic job with this number of ranks, in thousandths of its speed with its
// fewest ranks.
struct SizeSpeed {
    std::int32_t ranks = 0;
    std::int32_t milli = 0;
    friend auto operator<=>(const SizeSpeed&, const SizeSpeed&) = default;
};
BOOST_DESCRIBE_STRUCT(SizeSpeed, (), (ranks, milli))
inline constexpr std::int32_t kSpeedOfOne = 1'000;

// The speed at this size. The listed sizes are ascending; a size between two of them has the speed
// of the smaller one.
std::int32_t speed_of(const std::vector<SizeSpeed>& speeds, std::int64_t ranks);

struct JobSpec {
    JobKind kind = JobKind::training;
    std::string version = "v0.1";

    ObjectKey key;  // the server that accepts the job sets the namespace
    JobPriority priority = JobPriority::medium;
    std::string description;
    std::string queue;
    bool preemptible = false;
    Duration run_time_max;       // 0: no limit
    Duration run_time_expected;  // 0: unknown
    // The cost of a preemption of the job (docs/adr/0013). Without checkpoints (0) the job loses
    // all work since its start.
    Duration checkpoint_interval;
    Duration restart_cost;  // time until it has reached its previous progress again

    std::string image;
    std::vector<std::string> image_pull_secrets;
    std::vector<std::string> command;
    std::vector<std::string> args;
    std::vector<EnvironmentVariable> environment;

    std::string pool;  // empty: "default"
    GpuRequest gpu;
    std::string gpu_type;                     // requested label value; empty: any
    std::vector<std::string> gpu_types_next;  // tried in this order if `gpu_type` has no room
    std::string gpu_share;
    CpuMilli cpu;
    Bytes memory;

    // Number of pods. Training: ranks of a gang (replicas_min == replicas_max unless elastic).
    // Inference, compute: service.replicas. Notebook: 1.
    std::int32_t replicas_min = 1;
    std::int32_t replicas_max = 1;

    ServiceSpec service;
    std::vector<std::string> workdirs;  // host paths, each mounted at itself
    std::vector<VolumeClaim> claims;

    TopologyRules topology;  // rules for its pods relative to each other

    // Speeds of an elastic job by size, from its fewest ranks on. Empty: not stated.
    std::vector<SizeSpeed> speeds;

    JobExtras extras;

    friend auto operator<=>(const JobSpec&, const JobSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(JobSpec, (),
                      (kind, version, key, priority, description, queue, preemptible, run_time_max,
                       run_time_expected, checkpoint_interval, restart_cost, image,
                       image_pull_secrets, command, args, environment, pool, gpu, gpu_type,
                       gpu_types_next, gpu_share, cpu, memory, replicas_min, replicas_max, service,
                       workdirs, claims, topology, speeds, extras))

// Time for which a finished training job stays visible to users: ttlSecondsAfterFinished of its Job
// in Kubernetes.
inline constexpr Duration kFinishedJobKept = Duration::seconds(86'400);

// An accepted job: the spec and the members that the server adds.
struct JobRecord {
    std::string uid;  // UUIDv7
    JobSpec spec;
    std::string source;  // the YAML or JSON text as sent
    std::string idempotency_key;
    Instant submitted_at;
    friend auto operator<=>(const JobRecord&, const JobRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(JobRecord, (), (uid, spec, source, idempotency_key, submitted_at))

// The node resources that one pod of the job requests. Both adapters use it, so that the embedded
// cluster and Kubernetes place the same job alike.
Resources pod_request(const JobSpec& spec);
// True for replicas of services, and for the ranks of an elastic job beyond its minimum. These pods
// may use the reserve of their pool.
inline bool grows_with_demand(const JobSpec& spec, std::int32_t rank) {
    if (spec.kind == JobKind::inference || spec.kind == JobKind::compute) return true;
    return spec.replicas_max > spec.replicas_min && rank >= spec.replicas_min;
}

inline const std::string& gpu_model_of(const JobSpec& spec) {  // empty: any
    return spec.gpu_type.empty() ? spec.gpu.model : spec.gpu_type;
}
// Copies the accepted GPU models of the job to `rules`.
void set_gpu_models(const JobSpec& spec, PlacementRules& rules);

}  // namespace gpuctl
