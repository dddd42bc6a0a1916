#pragma once
// Why a job waits: facts with numbers and names, no sentences (docs/adr/0039). Figures (gpus_...
// and cpu_... in thousandths, memory_... in bytes; daemon/api shows whole GPUs and cores):
//   gpus_needed, gpus_per_rank, ranks_needed      the request
//   gpus_free, gpus_total, gpus_free_on_one_node  on the pool's nodes that it may use
//   gpus_largest_node                             allocatable on the largest such node
//   ranks_fitting, ranks_fitting_empty            ranks that fit now / on an empty pool
//   nodes_matching, nodes_pool                    nodes it may use, nodes of the pool
//   cpu_needed, cpu_free_on_one_node              per rank
//   memory_needed, memory_free_on_one_node        per rank
//   amount_needed, amount_free_on_one_node        of another resource; per rank
//     ..._free_on_one_node: the most on a node that has what a rank needs in the order GPUs, CPU,
//     memory, pod slots, other resources up to this one
//   gpus_limit, gpus_held, gpus_needed            of a queue or tenant limit; likewise cpu_,
//                                                 memory_, jobs_; reserved GPUs count as held
//   ranks_min, ranks_present, ranks_gated         of an incomplete gang
//   role_ranks_min, role_ranks_present            of the first role that lacks ranks
//   retry_in_ms                                   of a backoff
//   short_percent, short_run_time_ms              of the pool's short-job reserve
//   reserved_in_ms, run_time_max_ms               of the head-of-line reservation
//   waited_ms                                     by the head of the line that nodes are kept for
//   domains                                       of the required level that have nodes for it
//   ranks_fitting_in_one_domain, ..._empty        in the domain with most room; if all were empty
//   gpus_free_in_one_domain                       in the domain with most room
//   domains_needed, domains_fitting               by the spread rule; with room for a rank
//   victims_left, gpus_nominated, nomination_ends_in_ms  of nominated room
//   nodes_closed, windows                         nodes that only windows close, number of windows
//   closed_in_ms, closed_for_ms                   of the window that ends first; 0: has begun
//   nodes_closed_by_first                         by that window, even if other windows do, too
//   run_time_ms                                   that it needs before a window; 0: unknown
// Nominated room counts as held wherever something is reported as held.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/plan/allocate/eligibility.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Everything that blocks the job, the first blocker first; empty if none of its pods waits. `ready`
// is the result of read_readiness() now. Frequent callers pass their cache of allowed nodes as
// well.
std::vector<Explanation> explain(const ClusterState& state, JobId job, const Readiness& ready,
                                 EligibilityCache* eligibility = nullptr);
// What blocks the job without its own history: the result is valid for all jobs of its class.
std::vector<Explanation> blockers(const ClusterState& state, JobId job, const Readiness& ready,
                                  EligibilityCache* eligibility = nullptr);
std::vector<Explanation> explain(const ClusterState& state, JobId job);

// Why a running elastic job has its number of ranks, and what prevents growth; empty: the job is
// not elastic, or none of its ranks runs.
std::vector<Fact> explain_size(const ClusterState& state, JobId job);

// Adds to the first entry of `out` why pods of lower priority are not evicted for the job, and why
// the guarantee of its queue is not reclaimed for it, by the GPUs held. It visits all pods of the
// pool, so it is used for single jobs, not for lists.
void explain_holders(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// The result of survey() for `ranks` pods of one shape on the nodes of a pool (survey.cpp).
struct NodeSurvey {
    std::vector<NodeTally> tallies;  // by message
    std::int64_t nodes_pool = 0;
    std::int64_t nodes_matching = 0;
    std::int64_t nodes_sliced = 0;         // refused because the node offers slices as GPUs
    std::string sliced_model;              // GPU model of one of these nodes
    std::int64_t ranks_fitting = 0;        // capped at the requested ranks
    std::int64_t ranks_fitting_empty = 0;  // on empty nodes, capped likewise
    std::int64_t gpus_free = 0;            // of the shape's GPU resource, on matching nodes
    std::int64_t gpus_total = 0;
    std::int64_t gpus_free_on_one_node = 0;
    std::int64_t gpu_free_on_one_device = 0;  // for a fraction of a GPU
    std::int64_t gpus_largest_node = 0;
    // Per need of the shape, GPUs first, counted over the matching nodes with room for a rank by
    // the needs before it. For instance, a node without the GPUs does not count for memory.
    struct OfNeed {
        Need need;
        std::int64_t nodes_asked = 0;
        std::int64_t usable_on_one_node = 0;  // the largest usable amount on one of these nodes
        std::int64_t usable_most = 0;  // the largest usable amount on any node that it may use
        std::int64_t nodes_asked_empty = 0;  // number of these nodes if all nodes were empty
        std::int64_t largest_node = 0;       // the largest allocatable amount of such a node
        // number of ranks that fit if only the needs up to this one count
        std::int64_t ranks_fitting_so_far = 0;
        // nodes with enough of this need for a rank, among these nodes
        std::int64_t nodes_with_room = 0;
    };
    std::vector<OfNeed> needs;
};
// Nodes of the windows `barred`, and of windows that have begun, do not match. Nodes with another
// GPU model do not match if a model is given. `open`: the nodes outside of these windows that the
// shape may use, if they are known; they are not computed again.
NodeSurvey survey(const ClusterState& state, PoolId pool, const Shape& shape, std::int64_t ranks,
                  WindowSet barred, std::string_view model = {}, const NodeSet* open = nullptr);

// For a job whose queue does not exist: adds what would block it in any other queue as well.
void explain_any_queue(const ClusterState& state, JobId id, std::vector<Explanation>& out);

}  // namespace gpuctl
