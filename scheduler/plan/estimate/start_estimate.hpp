#pragma once
// When waiting jobs will start, as far as it is known: an estimate with a band for each job, never
// a reservation. It counts the GPUs of a pool as if all of them were on one node, takes the jobs in
// line one after the other, and takes run times from limits and history:
//   earliest  the job is next and all running work ends at its 10th percentile
//   likely    the jobs before it go first, and all work runs for the median; sooner if the job ends
//             before the reserved time of the head of the line and may pass it
//   latest    the jobs before it go first, and all work runs to its limit; for the head of the line
//             its reserved time if that is later
// A job that a limit blocks starts when enough usage under that limit has ended; it has no latest
// time. A job that a budget of GPU time blocks starts when the amount left is sufficient, when the
// next period adds to it, or when pods that end before their limits have returned enough; likely:
// after the jobs before it. There is no estimate for a job that lacks CPU, memory, a matching node
// or anything else that the end of a job with GPUs does not provide. A job that was just refused is
// not estimated to start now. Maintenance counts: nodes are closed to a job during a window, and
// before a window if the job would not end in time. Jobs that are submitted later and are served
// first (priority, shares, `shortest`) are not considered.

#include <map>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct StartEstimate {  // never: unknown
    Instant earliest;
    Instant likely;
    Instant latest;
    // No room is reserved for the job, and it needs more than one GPU: smaller jobs may use the
    // room that becomes free before it, again and again.
    bool may_be_passed = false;
    // With may_be_passed: from then on room is reserved for the job once it is the head of the
    // line. Before that room is reserved only if the ends of the blocking work are known.
    Instant reserved_from;
    friend bool operator==(const StartEstimate&, const StartEstimate&) = default;
};

// `line`: the waiting jobs of the pool, the next one first; jobs beyond kEstimatedMax are left out.
inline constexpr std::size_t kEstimatedMax = 10'000;
std::map<JobId, StartEstimate> estimate_starts(const ClusterState& state, PoolId pool,
                                               const std::vector<JobId>& line);

}  // namespace gpuctl
