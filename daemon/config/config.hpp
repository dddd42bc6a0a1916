#pragma once
// gpuctld.yaml as one typed tree. Defaults are defined here and nowhere else; config/gpuctld.yaml
// shows each with its meaning, and a test compares the two. Loading (load.hpp) is all or nothing.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/cluster/backends.hpp"
#include "policy_document/policy_document.hpp"
#include "scheduler/model/job/topology.hpp"

namespace gpuctl::config {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct TlsFiles {
    std::string certificate_file;
    std::string key_file;
    std::string client_ca_file;
};

// A token's name and role: viewer < user < operator < admin. Tokens are read from `tokens_file`,
// one `token role name` per line; other users must not be able to read the file.
struct Server {
    std::string address = "127.0.0.1";
    std::uint16_t port = 8000;
    std::optional<TlsFiles> tls;
    std::string tokens_file;  // empty: no authentication, loopback only
    bool metrics_need_token = false;
    std::string ui_directory;  // empty: /ui/ answers 404
    std::size_t connections_max = 1'024;
    std::size_t body_bytes_max = 1u << 20;
    std::size_t log_streams_max = 1'024;
    std::size_t sessions_max = 128;
    std::size_t sessions_per_caller_max = 32;
    seconds session_idle{3'600};
    seconds session_longest{86'400};
    seconds request_timeout{30};
    seconds shutdown_timeout{20};
};

struct Lease {
    bool enabled = true;
    // The same default inside and outside of the cluster: two daemons with different defaults would
    // both lead.
    std::string namespace_name = "gpuctl-system";
    std::string name = "gpuctld";
    milliseconds duration{15'000};
    milliseconds renew_deadline{10'000};
    milliseconds retry_period{2'000};
};

// The pod that runs this gpuctld, if any.
struct OwnPod {
    std::string namespace_name;
    std::string name;
    std::string uid;
    std::string container;
};

// A toleration of the pods that gpuctl creates. Without a key every taint, without a value every
// value, without an effect every effect.
struct PodToleration {
    std::string key;
    std::string value;
    std::string effect;
};

// What the pods of submitted jobs get, in every pool or in one (docs/adr/0048).
struct PodDefaults {
    std::string pool;  // empty: every pool
    std::string service_account;
    std::int64_t run_as_user = -1;  // -1: as the image says
    std::int64_t run_as_group = -1;
    std::int64_t fs_group = -1;
    bool run_as_non_root = false;
    std::string seccomp_profile;
    std::vector<PodToleration> tolerations;
    std::map<std::string, std::string> environment;
};

// The directories of hosts that the samples of config/examples mount.
std::vector<std::string> sample_host_path_roots();

enum class KubernetesEvents : std::uint8_t { off, failures, all };

struct Kubernetes {
    std::string kubeconfig;  // empty: in-cluster configuration
    std::string context;     // empty: current-context
    std::string scheduler_name = "gpuctl";
    Lease lease;
    OwnPod pod;
    std::size_t binds_in_flight_max = 64;
    seconds bind_timeout{5};  // a deposed leader's write must have ended by then
    KubernetesEvents events = KubernetesEvents::all;
    std::int64_t conditions_per_second = 20;
    std::int64_t success_events_per_second = 5;
    std::int64_t failure_events_per_second = 20;
    std::vector<std::string> host_path_roots;  // workdirs must lie below one of these; empty: none
    std::vector<PodDefaults> pod_defaults;
};

// `count` equal virtual nodes called <name>-0, <name>-1, ...
struct EmbeddedNodes {
    std::string name;
    std::int64_t count = 1;
    std::string pool = "default";
    std::string gpu_resource = "nvidia.com/gpu";
    std::string gpu_model;
    std::int64_t gpus = 0;
    std::vector<std::string> mig_slices;  // the slices of each GPU; none: whole GPUs
    std::int32_t gpu_replicas = 1;        // the replicas of each shared GPU
    std::int64_t cpu_cores = 64;
    std::int64_t memory_gib = 512;
    std::map<std::string, std::string> labels;
    std::int64_t nodes_per_rack = 0;  // 0: racks unknown
};

// A small cluster with the pools and GPU models that config/examples/ uses.
std::vector<EmbeddedNodes> default_nodes();

struct Embedded {
    std::vector<EmbeddedNodes> nodes = default_nodes();
    std::uint64_t seed = 1;
    milliseconds image_pull{800};  // median; each pod's own times are drawn from the seed
    milliseconds container_start{400};
    seconds training_run_time{30};  // of a training job without expectedRunTime
    std::vector<std::string> host_path_roots = sample_host_path_roots();
};

struct Cluster {
    ClusterMode mode = ClusterMode::embedded;
    Kubernetes kubernetes;
    Embedded embedded;
};

struct Journal {
    std::string directory;  // empty: $STATE_DIRECTORY, else $XDG_STATE_HOME/gpuctl, else
                            // ~/.local/state/gpuctl
    std::size_t segment_bytes_max = 64u << 20;
    std::uint64_t snapshot_every_inputs = 100'000;
    std::size_t past_bytes_max = 1u << 30;
    std::size_t queue_max = 65'536;  // inputs waiting for the engine; beyond: submits get 429
};

struct Logs {
    std::size_t ring_lines_per_subscriber = 10'000;
    std::size_t history_lines_per_pod = 10'000;  // how far back a reconnecting reader may resume
    std::size_t line_bytes_max = 64u << 10;
    seconds ping_interval{20};
};

struct Metrics {
    std::size_t tenant_labels_max = 100;  // further namespaces are counted as "other"
};

struct Logging {
    std::string level = "info";   // debug, info, warn, error
    std::string format = "text";  // text or json
};

struct Names {
    std::string label_prefix = "runwhere.ai";
    TopologyKeys topology_labels;
    std::vector<std::string> unhealthy_conditions = {"GpuUnhealthy"};
    std::int32_t gpu_replicas = 1;  // of a shared GPU, where no label has the count
    std::string vendors_file;       // replaces the built-in table of GPU vendors
    // By pool, "*" for every pool: variables that choose devices or load code, and which jobs may
    // set there; separated by spaces.
    std::map<std::string, std::string> allowed_variables;
};

// Its base is the policy, which other rooms read by themselves.
struct Config : PolicyDocument {
    Server server;
    Cluster cluster;
    Journal journal;
    Logs logs;
    Metrics metrics;
    Logging logging;
    Names names;
    // The place of each key that was given, "gpuctld.yaml:3:5", "environment variable X" or "flag
    // --listen", by its dotted name; for messages and for print_config().
    std::map<std::string, std::string> places;
    // Values that are allowed and perhaps not intended: sentences with their places.
    std::vector<std::string> warnings;
    // Variables with our prefix that describe services of the namespace: service_links.hpp.
    std::vector<std::string> service_links;
    // "gpuctld.yaml:3:5: ", or nothing.
    [[nodiscard]] std::string at(const std::string& key) const {
        const auto found = places.find(key);
        return found == places.end() ? std::string{} : found->second + ": ";
    }
};

}  // namespace gpuctl::config
