#pragma once
// Why a job waits. One closed set feeds explain output, Kubernetes events and conditions, metric
// labels and docs (table below; add a line there and everything else follows or fails to compile).

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl {

// X(name, label, autoscaler_can_help, meaning)
// `autoscaler_can_help`: more nodes would let it start, so Kubernetes may read Unschedulable (S8);
// all others are told as NotReadyForScheduling.
#define GPUCTL_REASONS(X)                                                                         \
    X(none, "none", false, "nothing blocks it")                                                   \
    X(not_synced, "not_synced", false, "the cluster has not been read completely yet")            \
    X(not_leader, "not_leader", false, "this gpuctld does not lead")                              \
    X(gated, "gated", false, "its scheduling gates are closed")                                   \
    X(unsupported_feature, "unsupported_feature", false, "it asks for something not built yet")   \
    X(gang_size_unknown, "gang_size_unknown", false, "nothing says how many ranks its gang has")  \
    X(gang_incomplete, "gang_incomplete", false, "not all ranks of its gang exist yet")           \
    X(pool_unknown, "pool_unknown", false, "its pool does not exist")                             \
    X(pool_empty, "pool_empty", true, "its pool has no node")                                     \
    X(queue_unknown, "queue_unknown", false, "its queue does not exist in its pool")              \
    X(queue_limit, "queue_limit", false, "its queue holds as many GPUs as it may")                \
    X(tenant_quota, "tenant_quota", false, "its namespace holds as much as it may")               \
    X(never_fits, "never_fits", true, "no node is large enough, even empty")                      \
    X(no_matching_node, "no_matching_node", true, "no node satisfies its selectors and taints")   \
    X(gpu_insufficient, "gpu_insufficient", true, "too few free GPUs")                            \
    X(gpu_fragmented, "gpu_fragmented", true, "enough free GPUs, but not together on a node")     \
    X(cpu_insufficient, "cpu_insufficient", true, "too little free CPU")                          \
    X(memory_insufficient, "memory_insufficient", true, "too little free memory")                 \
    X(pod_slots_insufficient, "pod_slots_insufficient", true, "too few free pod slots")           \
    X(extended_insufficient, "extended_insufficient", true, "too little of another resource")     \
    X(nodes_insufficient, "nodes_insufficient", true, "room for fewer ranks than its gang has")   \
    X(bind_backoff, "bind_backoff", false, "binding failed and is tried again later")             \
    X(gang_half_bound, "gang_half_bound", false, "part of its gang is bound, the rest cannot be") \
    X(turn, "turn", false, "jobs before it are tried first")                                      \
    X(pods_missing, "pods_missing", false, "its controller has made no pod that could be placed") \
    X(queue_holds_queues, "queue_holds_queues", false, "its queue holds queues, not jobs")        \
    X(reserved, "reserved", true, "the room for it is promised to the first in line")             \
    X(short_work_first, "short_work_first", true,                                                 \
      "the GPUs that are free are kept for short work")                                           \
    X(room_claimed, "room_claimed", false, "pods are being stopped to make room for it")          \
    X(topology_insufficient, "topology_insufficient", true,                                       \
      "its ranks find room, but not together or apart as they ask")                               \
    X(maintenance, "maintenance", true,                                                           \
      "the room for it is closed for maintenance, or soon will be")                               \
    X(set_aside, "set_aside", true, "the room for it is reserved for others at that time")        \
    X(kept_for_growth, "kept_for_growth", true,                                                   \
      "the GPUs that are free are kept for work that grows with demand")                          \
    X(budget_spent, "budget_spent", false,                                                        \
      "what is left of the GPU-hours of its queue or namespace is not enough for it")             \
    X(host_port_taken, "host_port_taken", true, "a port that it needs is taken on every node")

enum class Reason : std::uint8_t {
#define GPUCTL_AS_ENUMERATOR(name, label, autoscaler, meaning) name,
    GPUCTL_REASONS(GPUCTL_AS_ENUMERATOR)
#undef GPUCTL_AS_ENUMERATOR
};

struct ReasonRow {
    Reason reason;
    std::string_view label;
    bool autoscaler_can_help;
    std::string_view meaning;
};

inline constexpr auto kReasons = std::to_array<ReasonRow>({
#define GPUCTL_AS_ROW(name, label, autoscaler, meaning) \
    ReasonRow{Reason::name, label, autoscaler, meaning},
    GPUCTL_REASONS(GPUCTL_AS_ROW)
#undef GPUCTL_AS_ROW
});

constexpr const ReasonRow& row_of(Reason reason) {
    return kReasons[static_cast<std::size_t>(reason)];
}
constexpr std::string_view to_string(Reason reason) { return row_of(reason).label; }
// Names for the layout of archives: a label is never reused with another meaning.
inline std::vector<std::string_view> archive_enumerators(Reason) {
    std::vector<std::string_view> names;
    for (const ReasonRow& row : kReasons) names.push_back(row.label);
    return names;
}

// A number of an explanation; `name` comes from the closed list in explain.cpp's docstring.
struct Figure {
    std::string name;
    std::int64_t value = 0;
    friend auto operator<=>(const Figure&, const Figure&) = default;
};
BOOST_DESCRIBE_STRUCT(Figure, (), (name, value))

// So many nodes of the pool refuse a rank for this reason, in the words kube-scheduler uses (S9),
// e.g. {"Insufficient nvidia.com/gpu", 3}. A node counts for its first refusal by rule (a taint, a
// selector), or else for every resource it is short of: sums may exceed the nodes there are.
struct NodeTally {
    std::string message;
    std::int64_t nodes = 0;
    friend auto operator<=>(const NodeTally&, const NodeTally&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeTally, (), (message, nodes))

struct Explanation {
    Reason reason = Reason::none;
    std::string subject;          // pool, queue, namespace, resource or feature concerned
    std::string sentence;         // the whole story for people, numbers included
    std::vector<Figure> figures;  // the same numbers for machines
    std::vector<NodeTally> tallies;
    std::int64_t nodes_total = 0;  // nodes of the pool
    friend auto operator<=>(const Explanation&, const Explanation&) = default;
};
BOOST_DESCRIBE_STRUCT(Explanation, (), (reason, subject, sentence, figures, tallies, nodes_total))

// "0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 node(s) were unschedulable." (S9)
std::string kubernetes_message(const Explanation& explanation);

}  // namespace gpuctl
