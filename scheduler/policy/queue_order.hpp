#pragma once
// The order of the waiting classes of a pool: which class is tried next. Every queue and every pool
// has an order for its direct children, which is a row of the tables in queue_order.cpp. This file
// reads the state and changes nothing; docs/adr/0011-queue-tree.md has the reasons for this order.

#include <vector>

#include "scheduler/policy/limit_heads.hpp"
#include "scheduler/policy/shortest_first.hpp"
#include "scheduler/policy/terminating_pods.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// What a Plan knows about a pool's line in addition to the state.
struct Line {
    // A reservation may be made: there is none yet in this Plan. The head of the line may be a
    // class that was refused before.
    bool may_reserve = false;
    std::vector<ClassId> passed;  // classes for which no reservation is possible
    // Quota is reserved for the head of the line under each limit. `heads` has the heads that were
    // found so far.
    bool reserves_quota = false;
    bool has_only_heads = false;  // only heads are looked for
    LimitHeads heads;
    ShortestFirst scores;
    TerminatingPods terminating_pods;  // of the pool of this line

    [[nodiscard]] bool offers(const ClusterState& state, ClassId id) const;
};

// The class to try next; none: every waiting class of the pool is refused already.
ClassId next_class(const ClusterState& state, PoolId pool, Line& line);

// A waiting job with its class.
struct Contender {
    ClassId id;
    const JobClass* of = nullptr;
    WaitingJob job;
};

// The dominant share without terminating pods (see TerminatingPods), in parts of kShareWhole.
std::int64_t share_of_queue(const ClusterState& state, const Line& line, QueueId queue);
std::int64_t share_of_tenant(const ClusterState& state, const Line& line, QueueId leaf,
                             TenantId tenant);
// Recent usage as a share, which breaks ties of equal shares; see compute_recent_share().
std::int64_t recent_share_of_queue(const ClusterState& state, QueueId queue);
std::int64_t recent_share_of_tenant(const ClusterState& state, QueueId leaf, TenantId tenant);

// True if job `a` of the queue is tried before job `b`.
bool job_comes_first(const ClusterState& state, QueueId queue, Line& line, const Contender& a,
                     const Contender& b);

}  // namespace gpuctl
