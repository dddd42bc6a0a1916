#pragma once
// The parts of a pod that convert_pod*.cpp collect while walking; views into the pod's text.

#include <boost/container/small_vector.hpp>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/convert/convert_amounts.hpp"
#include "k8s/json/json_cursor.hpp"
#include "k8s/json/labels.hpp"
#include "scheduler/model/job/placement.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

// A user's value for a message, cut when it is long.
inline std::string in_quotes(std::string_view said) {
    constexpr std::size_t most = 60;
    return "\"" + std::string{said.substr(0, most)} + (said.size() > most ? "..." : "") + "\"";
}

// nullopt unless the whole text is a number in [low, 2^31).
inline std::optional<std::int32_t> number_at_least(std::string_view text, std::int32_t low) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < low) {
        return std::nullopt;
    }
    return value;
}

struct ContainerParts {
    std::string_view name;
    Amounts requests;
    bool sidecar = false;  // an init container with restartPolicy Always
    std::vector<HostPort> host_ports;
};

struct ContainerStatusParts {
    std::string_view name;
    std::optional<Amounts> actuated;  // status.containerStatuses[].resources.requests
    Amounts allocated;                // .allocatedResources
    std::string_view waiting_reason;
    std::string_view terminated_reason;
    Instant running_since;
    Instant finished_at;
    std::int32_t restarts = 0;
};

// spec.affinity.nodeAffinity.preferredDuringScheduling…
struct PreferredTerm {
    std::int64_t weight = 0;
    SelectorTerm term;
};

struct SpecParts {
    std::string_view node;
    std::string_view scheduler_name;
    std::int32_t priority = 0;
    bool preempts = true;
    bool runs_to_end = false;  // restartPolicy is not Always
    std::int64_t stop_grace_s = 30;
    bool gated = false;
    Duration run_time_max;  // activeDeadlineSeconds; 0: none
    boost::container::small_vector<ContainerParts, 2> containers;
    boost::container::small_vector<ContainerParts, 2> init_containers;
    Amounts overhead;
    Amounts pod_level;  // spec.resources.requests
    bool unreadable_quantity = false;
    PlacementRules rules;
    std::vector<PreferredTerm> preferred;
    std::vector<HostPort> host_ports;  // sorted, without duplicates
    std::vector<std::string> claims;  // names of PersistentVolumeClaims, sorted, without duplicates
    std::string_view scheduling_group;  // 1.36: spec.schedulingGroup.podGroupName
    std::vector<std::string> unsupported;
};

struct StatusParts {
    std::string_view phase;
    std::string_view pod_ip;
    Instant start_time;
    boost::container::small_vector<ContainerStatusParts, 2> containers;
    boost::container::small_vector<ContainerStatusParts, 2> init_containers;
    bool resize_infeasible = false;
    bool stored_unscheduled = false;
    std::string_view stored_reason;
    std::string_view stored_message;
    Instant stored_since;
};

// Labels of controllers that make many groups of pods (convert_made_group.cpp).
struct MadeGroupParts {
    std::string_view leader_worker_set;
    std::string_view lws_group;
    std::string_view lws_worker;  // 0: the leader
    std::string_view lws_size;
    std::string_view job_set;
    std::string_view job_set_attempt;
    std::string_view training_job;
    std::string_view training_operator;  // "pytorchjob-controller"
    std::string_view ray_cluster;
    std::string_view ray_replica;  // of a worker group with several hosts per replica
};

struct MetadataParts {
    std::string_view name;
    std::string_view namespace_name;
    std::string_view uid;
    std::int64_t generation = 0;
    Instant created_at;
    bool terminating = false;
    bool has_controller = false;
    std::string_view controller_uid;
    std::string_view controller_kind;
    std::string_view controller_name;
    bool is_made_by_us = false;
    OwnValue own_name;
    OwnValue pool;
    OwnValue queue;
    OwnValue gang;
    OwnValue gang_min;
    OwnValue gang_role;
    OwnValue gang_roles;
    OwnValue preemptible;
    OwnValue checkpoint_interval;
    OwnValue restart_cost;
    OwnValue gpu_type;
    OwnValue gpu_types;  // the annotation: a list, the preferred one first
    OwnValue gpu_fraction;
    OwnValue gpu_memory;
    OwnValue gpu_resource;
    OwnValue gpu_device;
    OwnValue required_topology;
    OwnValue preferred_topology;
    OwnValue topology_spread;
    std::string_view app;
    std::string_view template_hash;  // the revision of its controller that made it
    std::string_view foreign_gang;   // by label or annotation of another dialect
    std::string_view foreign_role;   // likewise
    std::string_view foreign_queue;  // likewise
    std::string_view completion_index;
    MadeGroupParts made_group;
};

// False: the key is none of these.
bool read_made_group_label(std::string_view key, std::string_view value, MadeGroupParts& parts);
bool read_made_group_annotation(std::string_view key, std::string_view value,
                                MadeGroupParts& parts);
// The queue that an object names for another scheduler; "default" is filled in by that scheduler
// and ignored.
inline std::string suggested_queue(std::string_view named) {
    return named == "default" ? std::string{} : std::string{named};
}
// "gang.LeaderWorkerSet.serve:llm-0" of a pod in the gang "serve"; empty: no known controller that
// makes many such groups.
std::string made_gang_of(const MadeGroupParts& parts, std::string_view said);
// The same for JobSet objects, which know the number of pods.
std::string job_set_gang(std::string_view said, std::string_view name, std::string_view attempt);

SpecParts read_spec(JsonCursor& cursor);
StatusParts read_status(JsonCursor& cursor);
MetadataParts read_metadata(JsonCursor& cursor, const LabelKeys& labels);

// The pod's job and the description of its gang (convert_gang.cpp).
void name_job(const MetadataParts& metadata, std::string_view scheduling_group,
              const LabelKeys& labels, PodFacts& facts);
// The pod's requests; for a bound pod, those of a resize that is in progress are included.
Resources pod_request(const SpecParts& spec, const StatusParts& status);
// A fraction of a GPU from the annotations; only on a pod of ours (convert_gpu_part.cpp).
void add_gpu_part(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts);
// Which GPU models the pod accepts, and which kind of GPU it requests (convert_gpu_kind.cpp).
void add_gpu_kind(const MetadataParts& metadata, const SpecParts& spec, const LabelKeys& labels,
                  PodFacts& facts);
// The kind of GPUs that a node offers, by its discovery labels.
void convert_gpu_names(const std::map<std::string, std::string>& node_labels,
                       const LabelKeys& labels, Resources& offered);
// The topology requirements of the annotations (convert_topology.cpp).
void add_topology(const MetadataParts& metadata, const LabelKeys& labels, PodFacts& facts);
// Holds pods that request resources which are never counted by node (convert_uncounted.cpp).
void refuse_uncounted(PodFacts& facts);
// The one node that the affinity names, if any (convert_pin.cpp).
NodePin pin_of(const PlacementRules& rules);
// The reason of a waiting or failed container, for users.
std::string pod_status(const StatusParts& status, bool terminating);

// spec.affinity.nodeAffinity.requiredDuringScheduling…: the terms are ORed.
std::vector<SelectorTerm> read_node_selector(JsonCursor& cursor);
PreferredTerm read_preferred(JsonCursor& cursor);
std::optional<Toleration> read_toleration(JsonCursor& cursor);  // nullopt: an unknown operator
std::optional<TaintEffect> taint_effect_of(std::string_view word);

}  // namespace gpuctl::k8s
