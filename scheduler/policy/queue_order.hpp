#pragma once
// Whose turn it is: which of the waiting classes of a pool is tried next. Every queue and pool has
// an order for what is directly below it, a row of the tables in queue_order.cpp. Reads the state,
// decides nothing else; docs/adr/0011-queue-tree.md says why in this order.

#include <vector>

#include "scheduler/policy/leavers.hpp"
#include "scheduler/policy/limit_heads.hpp"
#include "scheduler/policy/shortest_first.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What a Plan knows about a pool's line beyond the state.
struct Line {
    // Nobody has a promise yet in this Plan: the first in line may be one that was refused before.
    bool may_promise = false;
    std::vector<ClassId> passed;  // that can be promised nothing
    // What limits leave is kept for the first in line for it: `heads`, as far as they are found.
    bool keeps_limits = false;
    bool has_only_heads = false;  // nobody else is looked for
    LimitHeads heads;
    ShortestFirst scores;
    Leavers leavers;  // of the pool whose line it is

    [[nodiscard]] bool offers(const ClusterState& state, ClassId id) const;
};

// The class to try next; none: nothing in the pool waits that is not refused already.
ClassId next_class(const ClusterState& state, PoolId pool, Line& line);

// A waiting job with the class it is in.
struct Contender {
    ClassId id;
    const JobClass* of = nullptr;
    WaitingJob job;
};

// By what stays of it, see Leavers: the dominant share in parts of kShareWhole.
std::int64_t share_of_queue(const ClusterState& state, const Line& line, QueueId queue);
std::int64_t share_of_tenant(const ClusterState& state, const Line& line, QueueId leaf,
                             TenantId tenant);
// Of equal shares, see share_lately().
std::int64_t lately_of_queue(const ClusterState& state, QueueId queue);
std::int64_t lately_of_tenant(const ClusterState& state, QueueId leaf, TenantId tenant);

// True when the first of two jobs of one queue is tried first.
bool job_comes_first(const ClusterState& state, QueueId queue, Line& line, const Contender& a,
                     const Contender& b);

}  // namespace gpuctl
