#pragma once
// Shared by the files that explain a job. explain.cpp is the entry; explain_hold.cpp reports
// blockers of the job itself, explain_limit.cpp limits, explain_room.cpp lack of room.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/plan/explain/explain.hpp"

namespace gpuctl::explain_parts {

// True if the reason is a limit, so that room would not help.
inline bool is_of_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::reserved_for_growth;
}

// Several pods of one shape.
struct Group {
    ShapeId shape;
    std::int64_t ranks = 0;
    WindowSet barred = 0;  // maintenance windows whose nodes the group may not use
    // Allowed nodes outside of those windows, for survey(); null: unknown.
    const NodeSet* open = nullptr;
};

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready);
std::vector<fact::RoleCount> role_counts(const Readiness& ready);
// Adds figures of the first role of a gang that lacks ranks, if a role does.
void add_role_figures(const Readiness& ready, std::vector<Figure>& figures);
// The limit that blocks the job, with its level and its arithmetic. `takes_others`: the limit is
// for one GPU model, and the gang accepts other models.
Explanation explain_limit(const ClusterState& state, const JobRow& job, const LimitHit& hit,
                          bool takes_others = false);
fact::LimitHolder limit_holder(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// The budget of GPU time that blocks the job (explain_budget.cpp).
Explanation explain_budget(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// Explains ranks that accept several GPU models and find room on none of them (explain_models.cpp).
// `room` is the explanation for all their nodes together.
std::optional<Explanation> explain_models(const ClusterState& state, const JobRow& job,
                                          const Group& group, Explanation room);
// True if some GPUs are used in part. Such a GPU has a free rest, but it is not free for ranks that
// need whole GPUs.
bool has_rests(const Capacity& capacity, PoolId pool, Column whole);
fact::Amount amount_of(const Capacity& capacity, Column column, std::int64_t amount);
// The reason that is reported for an unmet need of this kind.
Reason reason_of(ColumnKind kind);
// Why the nodes refuse the pod, for a pool where no node accepts it.
std::vector<fact::NodesRefusing> refusals_of(const ClusterState& state, PoolId pool,
                                             const PlacementRules& rules);
// Nodes of other pools that have room for the group, or the missing node that the job names
// (explain_pools.cpp). Nothing: the pool does not block the job.
std::optional<Fact> nodes_in_other_pools(const ClusterState& state, const JobRow& job,
                                         const Group& group);
// Explains why ranks of one shape find no room; nothing if they find room.
std::optional<Explanation> explain_group(const ClusterState& state, const JobRow& job,
                                         const Group& group);
// Explains why ranks find room in the pool, but not with their topology rules
// (explain_topology.cpp).
std::optional<Explanation> explain_topology(const ClusterState& state, const JobRow& job,
                                            const Group& group);
// Adds to another lack of room what the topology rules lack; nothing: the topology rules do not
// block the ranks.
std::optional<fact::TopologyShort> find_topology_shortage(const ClusterState& state,
                                                          const JobRow& job, const Group& group);
// The refusal with the effect of maintenance: some nodes are closed now, or will be before the job
// ends. `anyway` is the refusal without windows (explain_maintenance.cpp).
Explanation explain_maintenance(const ClusterState& state, const JobRow& job, const Group& group,
                                const Stay& stay, Explanation refusal,
                                const std::optional<Explanation>& anyway);
fact::Request request_of(const Capacity& capacity, const Shape& shape, std::int64_t ranks);
// Whether all shapes of a mixed gang together find room when each shape alone does. Computed on a
// copy of the columns.
fact::MixedRequest whole_of_mix(const ClusterState& state, const Readiness& ready);
std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready, WindowSet barred);

// Reports the reservation to the head of the line. To a job that would find room otherwise, reports
// the head that the room is reserved for.
void explain_head_reservation(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Reports quota reservations in the same way (explain_quota_reservation.cpp).
void explain_quota_reservation(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Reports to long work that the room is part of the short-job reserve.
void explain_short_work(const ClusterState& state, JobId id, std::vector<Explanation>& out);

}  // namespace gpuctl::explain_parts
