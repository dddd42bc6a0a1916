#pragma once
// Shared by the files of the explanation: explain.cpp is the entry, explain_hold.cpp reports
// blockers of the job itself, explain_limit.cpp limits, explain_room.cpp lack of room.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/plan/explain/explain.hpp"

namespace gpuctl::explain_parts {

// A limit blocks it, room would not help.
inline bool is_of_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::kept_for_growth;
}

// Several pods of one shape.
struct Group {
    ShapeId shape;
    std::int64_t ranks = 0;
    WindowSet barred = 0;  // whose nodes it may not use
    // Nodes that are allowed outside of those, for survey(); null: unknown.
    const NodeSet* open = nullptr;
};

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready);
std::vector<fact::RoleCount> role_counts(const Readiness& ready);
// Figures of the first role of a gang that lacks ranks, if one does.
void add_role_figures(const Readiness& ready, std::vector<Figure>& figures);
// The limit that blocks it, with its level and its arithmetic. `takes_others`: the limit is for one
// GPU model, and the gang accepts other models.
Explanation explain_limit(const ClusterState& state, const JobRow& job, const LimitHit& hit,
                          bool takes_others = false);
fact::LimitHolder limit_holder(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// The same for a budget of GPU time (explain_budget.cpp).
Explanation explain_budget(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// Ranks that accept several GPU models and find room on none of them (explain_models.cpp). `room`
// is the explanation for all these nodes together.
std::optional<Explanation> explain_models(const ClusterState& state, const JobRow& job,
                                          const Group& group, Explanation room);
// Some GPUs are used in part and have a rest: none of them is whole, so none is free for ranks that
// need whole GPUs.
bool has_rests(const Capacity& capacity, PoolId pool, Column whole);
fact::Amount amount_of(const Capacity& capacity, Column column, std::int64_t amount);
// The reason for an unmet need of this kind.
Reason reason_of(ColumnKind kind);
// For a pool where no node would accept the pod.
std::vector<fact::NodesRefusing> refusals_of(const ClusterState& state, PoolId pool,
                                             const PlacementRules& rules);
// Nodes of other pools that would have room for it, or the missing node that it names
// (explain_pools.cpp); nothing: its pool does not block it.
std::optional<Fact> nodes_in_other_pools(const ClusterState& state, const JobRow& job,
                                         const Group& group);
// Ranks of one shape that find no room; nothing if they do.
std::optional<Explanation> explain_group(const ClusterState& state, const JobRow& job,
                                         const Group& group);
// Ranks that find room in the pool, but not with their topology rules (explain_topology.cpp).
std::optional<Explanation> explain_topology(const ClusterState& state, const JobRow& job,
                                            const Group& group);
// The same for ranks that find no room anyway; nothing: their topology does not block them.
std::optional<fact::TopologyShort> topology_beside(const ClusterState& state, const JobRow& job,
                                                   const Group& group);
// The refusal if some of the nodes are closed for maintenance, or will be before the job ends;
// `anyway` is the refusal without windows (explain_maintenance.cpp).
Explanation explain_maintenance(const ClusterState& state, const JobRow& job, const Group& group,
                                const Stay& stay, Explanation refusal,
                                const std::optional<Explanation>& anyway);
fact::Request request_of(const Capacity& capacity, const Shape& shape, std::int64_t ranks);
// Each shape of a mixed gang finds room alone; do all of them together? Computed on a copy of the
// columns.
fact::MixedRequest whole_of_mix(const ClusterState& state, const Readiness& ready);
std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready, WindowSet barred);

// Reports the reservation to the head of the line, and to a job that finds room what that room is
// reserved for.
void explain_promise(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Likewise for quota reservations (explain_limits_kept.cpp).
void explain_limits_kept(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Reports to long work that the room is part of the short-job reserve.
void explain_short_work(const ClusterState& state, JobId id, std::vector<Explanation>& out);

}  // namespace gpuctl::explain_parts
