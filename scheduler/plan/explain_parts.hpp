#pragma once
// What the files of the explanation share: explain.cpp asks, explain_hold.cpp tells what about the
// job itself stands in the way, explain_limit.cpp which limit, explain_room.cpp where its ranks
// find no room.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/model/quantity.hpp"
#include "scheduler/plan/explain.hpp"

namespace gpuctl::explain_parts {

inline std::string gpus(std::int64_t milli) { return format_gpus(GpuMilli{milli}); }
inline std::string gpus_noun(std::int64_t milli) {
    return gpus(milli) + (milli == kGpuMilliPerGpu ? " GPU" : " GPUs");
}
// Of one resource: "3 GPUs", "3 mig-1g.10gb slices", "3 shares of a GPU".
inline std::string gpus_noun(std::string_view resource, std::int64_t milli) {
    if (is_shared_resource(resource)) {
        return gpus(milli) + (milli == kGpuMilliPerGpu ? " share" : " shares") + " of a GPU";
    }
    if (!is_mig_resource(resource)) return gpus_noun(milli);
    return gpus(milli) + " " + std::string{mig_name(resource)} +
           (milli == kGpuMilliPerGpu ? " slice" : " slices");
}
inline std::string count(std::int64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
}
inline std::string ranks_text(std::int64_t ranks) { return count(ranks, "rank", "ranks"); }

// "2d 3h", "3h 20m", "45s": the two largest units, rounded up.
std::string span(Duration length);

// A limit stops it, room would not help.
inline bool is_of_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::kept_for_growth;
}

// So many pods of one shape.
struct Group {
    ShapeId shape;
    std::int64_t ranks = 0;
    WindowSet barred = 0;  // whose nodes it may not use
    // Nodes known to be allowed outside of those, for survey(); null: none is known.
    const NodeSet* open = nullptr;
};

Explanation explain_hold(const ClusterState& state, const JobRow& job, const Readiness& ready);
// Of the first role of a gang that lacks ranks, if one does.
void add_role_figures(const Readiness& ready, std::vector<Figure>& figures);
// The limit that stops it, with its level and its arithmetic.
// `takes_others`: the limit of a GPU model, of a gang that may be on others as well.
Explanation explain_limit(const ClusterState& state, const JobRow& job, const LimitHit& hit,
                          bool takes_others = false);
// Whose limit it is: "queue a of pool gpu", "namespace team".
std::string limit_holder(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// The same of a budget of GPU time (explain_budget.cpp).
Explanation explain_budget(const ClusterState& state, const JobRow& job, const LimitHit& hit);
// Ranks that take several GPU models, and find room on none of them (explain_models.cpp); `room` is
// what is to be told of all these nodes together.
std::optional<Explanation> explain_models(const ClusterState& state, const JobRow& job,
                                          const Group& group, Explanation room);
// Of GPUs of which others hold parts something is left: no whole one, and so none for whom wants
// those.
bool has_rests(const Capacity& capacity, PoolId pool, Column whole);
// "8 GPUs", "500m CPU", "3 example.com/fpga".
std::string amount_text(ColumnKind kind, const std::string& resource, std::int64_t amount);
// Why a need of this kind is not met.
Reason reason_of(ColumnKind kind);
// "2 are cordoned, 1 does not match zone=a": of a pool none of whose nodes would take the pod.
std::string refusals_of(const ClusterState& state, PoolId pool, const PlacementRules& rules);
// "; it asks in pool default, and 2 nodes that take it are in pool training": where its pool is
// what is in the way (explain_pools.cpp); empty: it is not. They would have room for it.
std::string nodes_in_other_pools(const ClusterState& state, const JobRow& job, const Group& group);
// Ranks of one shape that do not find room; nothing when they do.
std::optional<Explanation> explain_group(const ClusterState& state, const JobRow& job,
                                         const Group& group);
// Ranks that find room in the pool, but not together or apart as they ask (explain_topology.cpp).
std::optional<Explanation> explain_topology(const ClusterState& state, const JobRow& job,
                                            const Group& group);
// The same, for one that finds no room anyway: "; it needs them in 3 different hosts; 1 has room";
// empty: how they stand is not in its way.
std::string topology_beside(const ClusterState& state, const JobRow& job, const Group& group);
// What a refusal is when some of the nodes are closed for maintenance, or will be before the job is
// over; `anyway` is what it were without (explain_maintenance.cpp).
Explanation explain_maintenance(const ClusterState& state, const JobRow& job, const Group& group,
                                const Stay& stay, Explanation refusal,
                                const std::optional<Explanation>& anyway);
// "needs 16 GPUs for 2 ranks (8 each)": the beginning of the sentence.
std::string asks_for(const Capacity& capacity, const Shape& shape, std::int64_t ranks);
// Each shape of a mixed gang finds room by itself; do they together? Asked on a copy of the world.
// "6 GPUs for 3 ranks of different size at once (4, 1, 1)"
std::string whole_of_mix(const ClusterState& state, const Readiness& ready);
std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready, WindowSet barred);

// Tells the first in line what it is promised, and one that finds room what that room is kept for.
void explain_promise(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Likewise of what limits leave (explain_limits_kept.cpp).
void explain_limits_kept(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// Tells long work, whose room it is that it may not have.
void explain_short_work(const ClusterState& state, JobId id, std::vector<Explanation>& out);

}  // namespace gpuctl::explain_parts
