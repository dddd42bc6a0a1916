#pragma once
// Why a job waits, with numbers. Figures (gpus_... and cpu_... in thousandths, memory_... in bytes;
// daemon/api shows whole GPUs and cores):
//   gpus_needed, gpus_per_rank, ranks_needed      what it asks for
//   gpus_free, gpus_total, gpus_free_on_one_node  on the pool's nodes it may use
//   gpus_largest_node                             allocatable on the largest such node
//   ranks_fitting, ranks_fitting_empty            so many of the ranks fit now / on an empty pool
//   nodes_matching, nodes_pool                    nodes it may use, nodes of the pool
//   cpu_needed, cpu_free_on_one_node              per rank
//   memory_needed, memory_free_on_one_node        per rank
//   amount_needed, amount_free_on_one_node        of another resource; per rank
//     ..._free_on_one_node: the most on a node that has what a rank needs in the order GPUs, CPU,
//     memory, pod slots, others up to this one
//   gpus_limit, gpus_held, gpus_needed            of a queue or tenant limit; likewise cpu_,
//                                                 memory_, jobs_; where GPUs are kept back, they
//                                                 count as held
//   ranks_min, ranks_present, ranks_gated         of a gang that is not there yet
//   role_ranks_min, role_ranks_present            of the first role that lacks ranks
//   retry_in_ms                                   of a backoff
//   short_percent, short_run_time_ms              of what a pool keeps for short work
//   promised_in_ms, run_time_max_ms               of a promise to the first in line
//   waited_ms                                     by the first in line that is kept nodes
//   domains                                       of the level it requires that have nodes for it
//   ranks_fitting_in_one_domain, ..._empty        in the one with most room; were all empty
//   gpus_free_in_one_domain                       in the one with most room
//   domains_needed, domains_fitting               to be apart in; with room for a rank
//   victims_left, gpus_claimed, claim_ends_in_ms  of room that pods are being stopped for
//   nodes_closed, windows                         that it could use but for so many windows
//   closed_in_ms, closed_for_ms                   of the window that is over first; 0: has begun
//   nodes_closed_by_first                         by that window, whatever others close them, too
//   run_time_ms                                   that it needs before one; 0: nobody knows
// What is claimed counts as held wherever something is said to be held.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/reason.hpp"
#include "scheduler/plan/eligibility.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Everything that blocks the job, the first blocker first; empty when nothing of it waits. `ready`
// is what read_readiness() says now. Frequent callers pass their cache of allowed nodes.
std::vector<Explanation> explain(const ClusterState& state, JobId job, const Readiness& ready,
                                 EligibilityCache* eligibility = nullptr);
// The same without what is the job's own story: true of all jobs of its class.
std::vector<Explanation> blockers(const ClusterState& state, JobId job, const Readiness& ready,
                                  EligibilityCache* eligibility = nullptr);
std::vector<Explanation> explain(const ClusterState& state, JobId job);

// How the sentence of the first in line tells by when it starts (its figure promised_in_ms), for
// who knows a better time and tells that instead.
std::string promised_bound(Duration until);

// Why an elastic job that runs has as many ranks as it has, and what keeps it from having more;
// empty: it is none, or none of it runs.
std::string explain_size(const ClusterState& state, JobId job);

// Adds to the first of `out` why nobody of lower priority is stopped for it, and why what its queue
// is guaranteed is not taken back for it, by what they hold.
// Runs through all that the pool's nodes carry: for one job that somebody asks about, not for
// lists.
void explain_holders(const ClusterState& state, JobId id, std::vector<Explanation>& out);

// What the nodes of a pool say to `ranks` pods of one shape (survey.cpp).
struct NodeSurvey {
    std::vector<NodeTally> tallies;  // by message
    std::int64_t nodes_pool = 0;
    std::int64_t nodes_matching = 0;
    std::int64_t nodes_sliced = 0;         // refused: what they call GPUs are slices
    std::string sliced_model;              // of one of them
    std::int64_t ranks_fitting = 0;        // capped at the ranks asked for
    std::int64_t ranks_fitting_empty = 0;  // likewise
    std::int64_t gpus_free = 0;            // of the shape's GPU resource, on matching nodes
    std::int64_t gpus_total = 0;
    std::int64_t gpus_free_on_one_node = 0;
    std::int64_t gpu_free_on_one_device = 0;  // for a part of a GPU
    std::int64_t gpus_largest_node = 0;
    // Per need of the shape, GPUs first: asked of the matching nodes that have room for a rank by
    // the needs before it; a node without the GPUs has no say on how much memory there is.
    struct OfNeed {
        Need need;
        std::int64_t nodes_asked = 0;
        std::int64_t usable_on_one_node = 0;    // most on a node asked
        std::int64_t usable_most = 0;           // on any node that it may use
        std::int64_t nodes_asked_empty = 0;     // the same were all nodes empty
        std::int64_t largest_node = 0;          // most allocatable on such a node
        std::int64_t ranks_fitting_so_far = 0;  // when only the needs up to this one count
        std::int64_t nodes_with_room = 0;       // asked that have enough of it for a rank
    };
    std::vector<OfNeed> needs;
};
// Nodes of the windows `barred`, and of those that have begun, are not matching; nor, when a GPU
// model is named, those of others. `open`: nodes known to be allowed to the shape outside of these
// windows, which are not judged again; null: none is known.
NodeSurvey survey(const ClusterState& state, PoolId pool, const Shape& shape, std::int64_t ranks,
                  WindowSet barred, std::string_view model = {}, const NodeSet* open = nullptr);

// Of a job whose queue does not exist: what would be in its way in any other one as well.
void explain_any_queue(const ClusterState& state, JobId id, std::vector<Explanation>& out);

}  // namespace gpuctl
