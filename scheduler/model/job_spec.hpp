#pragma once
// A job as its user wrote it (contract.md 3, ruling 10), decoded, checked and with defaults filled
// in by wire/job_yaml. Both adapters turn it into pods: k8s/workloads through API objects, sim/ on
// the virtual cluster.

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
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
// PriorityClass values (contract.md 4.6).
constexpr std::int32_t priority_value(JobPriority priority) {
    constexpr std::int32_t values[] = {100, 500'000, 1'000'000};
    return values[static_cast<std::size_t>(priority)];
}

enum class GpuMode : std::uint8_t { none, exclusive, fraction, shared, mig };
BOOST_DESCRIBE_ENUM(GpuMode, none, exclusive, fraction, shared, mig)

// One parsed GPU string (contract.md 5.1), per pod.
struct GpuRequest {
    GpuMode mode = GpuMode::none;
    std::int64_t count = 0;       // whole devices, MIG slices or shares
    GpuMilli amount;              // of that many, 1000 for each whole one
    std::optional<Bytes> memory;  // fraction by memory
    std::string vendor;           // canonical alias: nvidia, amd, ...
    std::string model;            // as written; empty: any
    std::string mig_profile;      // 1g.10gb
    std::string resource;         // Kubernetes resource name of the device
    GpuShare share{};             // of a whole GPU, of each, where the resource does not tell
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

// How fast an elastic job is with so many ranks, in thousandths of what it is with its fewest.
struct SizeSpeed {
    std::int32_t ranks = 0;
    std::int32_t milli = 0;
    friend auto operator<=>(const SizeSpeed&, const SizeSpeed&) = default;
};
BOOST_DESCRIBE_STRUCT(SizeSpeed, (), (ranks, milli))
inline constexpr std::int32_t kSpeedOfOne = 1'000;

// By the sizes that are listed, rising: one between two of them is as fast as the smaller.
std::int32_t speed_of(const std::vector<SizeSpeed>& speeds, std::int64_t ranks);

struct JobSpec {
    JobKind kind = JobKind::training;
    std::string version = "v0.1";

    ObjectKey key;  // namespace resolved by whoever accepts the job
    JobPriority priority = JobPriority::medium;
    std::string description;
    std::string queue;
    bool preemptible = false;
    Duration run_time_max;       // 0: no limit
    Duration run_time_expected;  // 0: unknown
    // What being stopped for others costs it (ADR 0013).
    Duration checkpoint_interval;  // 0: it keeps nothing, all since its start is lost
    Duration restart_cost;         // until it is again where it was

    std::string image;
    std::vector<std::string> image_pull_secrets;
    std::vector<std::string> command;
    std::vector<std::string> args;
    std::vector<EnvironmentVariable> environment;

    std::string pool;  // empty: "default"
    GpuRequest gpu;
    std::string gpu_type;                     // label value asked for; empty: any
    std::vector<std::string> gpu_types_next;  // taken where that has no room, in this order
    std::string gpu_share;
    CpuMilli cpu;
    Bytes memory;

    // Pods of the job. Training: ranks of a gang (replicas_min == replicas_max unless elastic).
    // Inference, compute: service.replicas. Notebook: 1.
    std::int32_t replicas_min = 1;
    std::int32_t replicas_max = 1;

    ServiceSpec service;
    std::vector<std::string> workdirs;  // host paths, each mounted at itself
    std::vector<VolumeClaim> claims;

    TopologyRules topology;  // of its pods among each other

    // Of an elastic job; from its fewest ranks on. Empty: nobody says.
    std::vector<SizeSpeed> speeds;

    friend auto operator<=>(const JobSpec&, const JobSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(JobSpec, (),
                      (kind, version, key, priority, description, queue, preemptible, run_time_max,
                       run_time_expected, checkpoint_interval, restart_cost, image,
                       image_pull_secrets, command, args, environment, pool, gpu, gpu_type,
                       gpu_types_next, gpu_share, cpu, memory, replicas_min, replicas_max, service,
                       workdirs, claims, topology, speeds))

// So long a training job that has ended is kept for its users to look at (contract 4.2): the time
// to live of its Job in Kubernetes.
inline constexpr Duration kFinishedJobKept = Duration::seconds(86'400);

// An accepted job: the spec and what we added.
struct JobRecord {
    std::string uid;  // UUIDv7
    JobSpec spec;
    std::string source;  // the YAML or JSON text as sent
    std::string idempotency_key;
    Instant submitted_at;
    friend auto operator<=>(const JobRecord&, const JobRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(JobRecord, (), (uid, spec, source, idempotency_key, submitted_at))

// What one pod of the job asks of a node, and where it may go. Shared by both adapters so that the
// embedded cluster and Kubernetes place the same job the same way.
Resources pod_request(const JobSpec& spec);
// Replicas of services, and the ranks of an elastic job beyond its minimum: what may use the
// reserve of its pool.
inline bool grows_with_demand(const JobSpec& spec, std::int32_t rank) {
    if (spec.kind == JobKind::inference || spec.kind == JobKind::compute) return true;
    return spec.replicas_max > spec.replicas_min && rank >= spec.replicas_min;
}

inline const std::string& gpu_model_of(const JobSpec& spec) {  // empty: any
    return spec.gpu_type.empty() ? spec.gpu.model : spec.gpu_type;
}
// What it says of the GPU models it takes.
void set_gpu_models(const JobSpec& spec, PlacementRules& rules);

}  // namespace gpuctl
