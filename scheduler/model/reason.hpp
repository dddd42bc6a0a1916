#pragma once
// Why a job waits. One closed set is used for explain output, Kubernetes events and conditions,
// metric labels and docs. Add a line to the table below; everything else follows or fails to
// compile.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuctl {

// X(name, label, autoscaler_can_help, meaning)
// `autoscaler_can_help`: more nodes would let the job start, so Kubernetes shows Unschedulable
// and the cluster autoscaler acts; all other reasons are reported as NotReadyForScheduling.
#define GPUCTL_REASONS(X)                                                                         \
    X(none, "none", false, "nothing blocks it")                                                   \
    X(not_synced, "not_synced", false, "the cluster has not been read completely yet")            \
    X(not_leader, "not_leader", false, "this gpuctld is not the leader")                          \
    X(gated, "gated", false, "its scheduling gates are not removed yet")                          \
    X(unsupported_feature, "unsupported_feature", false,                                          \
      "it uses a feature that is not supported")                                                  \
    X(gang_size_unknown, "gang_size_unknown", false, "the size of its gang is unknown")           \
    X(gang_incomplete, "gang_incomplete", false, "not all ranks of its gang exist yet")           \
    X(pool_unknown, "pool_unknown", false, "its pool does not exist")                             \
    X(pool_empty, "pool_empty", true, "its pool has no node")                                     \
    X(queue_unknown, "queue_unknown", false, "its queue does not exist in its pool")              \
    X(queue_limit, "queue_limit", false, "its queue is at its limit")                             \
    X(tenant_quota, "tenant_quota", false, "its namespace is at its limit")                       \
    X(never_fits, "never_fits", true, "no node is large enough, even empty")                      \
    X(no_matching_node, "no_matching_node", true, "no node satisfies its selectors and taints")   \
    X(gpu_insufficient, "gpu_insufficient", true, "too few free GPUs")                            \
    X(gpu_fragmented, "gpu_fragmented", true, "enough free GPUs, but not together on one node")   \
    X(cpu_insufficient, "cpu_insufficient", true, "too little free CPU")                          \
    X(memory_insufficient, "memory_insufficient", true, "too little free memory")                 \
    X(pod_slots_insufficient, "pod_slots_insufficient", true, "too few free pod slots")           \
    X(extended_insufficient, "extended_insufficient", true, "too little of another resource")     \
    X(nodes_insufficient, "nodes_insufficient", true, "room for fewer ranks than its gang has")   \
    X(bind_backoff, "bind_backoff", false, "binding failed and is retried later")                 \
    X(gang_half_bound, "gang_half_bound", false, "part of its gang is bound, the rest cannot be") \
    X(turn, "turn", false, "the next scheduling cycle tries it")                                  \
    X(pods_missing, "pods_missing", false, "its controller has created no pod to place")          \
    X(queue_holds_queues, "queue_holds_queues", false,                                            \
      "its queue has sub-queues and takes no jobs")                                               \
    X(reserved, "reserved", true, "its room is reserved for the head-of-line job")                \
    X(short_work_first, "short_work_first", true, "the free GPUs are reserved for short jobs")    \
    X(room_nominated, "room_nominated", false, "pods are being evicted to make room for it")      \
    X(topology_insufficient, "topology_insufficient", true,                                       \
      "its ranks find room, but not in the topology they require")                                \
    X(maintenance, "maintenance", true, "its nodes are closed for maintenance, or soon will be")  \
    X(set_aside, "set_aside", true, "its nodes are reserved for other jobs at that time")         \
    X(reserved_for_growth, "reserved_for_growth", true,                                           \
      "the free GPUs are reserved for services and growing elastic jobs")                         \
    X(budget_spent, "budget_spent", false,                                                        \
      "the GPU-hours left to its queue or namespace are not enough for it")                       \
    X(host_port_taken, "host_port_taken", true,                                                   \
      "a host port that it requests is in use on every node")                                     \
    X(paused, "paused", false, "its user has paused it")

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
// The names in layouts of archives. A name is never changed, nor reused with another meaning: two
// reasons have another label now.
inline std::vector<std::string_view> archive_enumerators(Reason) {
    std::vector<std::string_view> names;
    for (const ReasonRow& row : kReasons) names.push_back(row.label);
    names[static_cast<std::size_t>(Reason::room_nominated)] = "room_claimed";
    names[static_cast<std::size_t>(Reason::reserved_for_growth)] = "kept_for_growth";
    return names;
}

}  // namespace gpuctl
