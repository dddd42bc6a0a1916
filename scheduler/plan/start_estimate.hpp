#pragma once
// When waiting jobs will start, as far as that can be told: an estimate with a band for each, never
// a promise (that is Promise). It counts the GPUs of a pool as if all of them were on one node,
// takes jobs in line one after the other, and takes run times from limits and history:
//   earliest  it is next and all that runs ends as early as one job in ten does
//   likely    those before it go first, and everything lasts as long as the median; sooner where it
//             is over by when the first in line is promised room, and may pass it
//   latest    those before it go first, and everything runs to its limit; for the first in line
//   what
//             it is promised, where that is later
// A job that a limit stops starts when enough of what counts against it has ended, with no latest
// time; one that a budget of GPU time stops, when what is left of that is enough, more of it comes,
// or those who end before their limits have given enough back; likely, after those before it. Of
// one that lacks CPU, memory, a matching node or anything else that no end of a job with GPUs
// brings, nothing is told. What was just refused is not told to start now. Maintenance counts:
// nodes are closed to a job while they are in a window and before one that it would not be over by.
// Jobs that come later and go first (priority, shares, `shortest`) are in none of them.

#include <map>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

struct StartEstimate {  // never: cannot be said
    Instant earliest;
    Instant likely;
    Instant latest;
    // No room is kept for it, and it needs more than one GPU: whoever needs less may start before
    // it in what comes free, again and again.
    bool may_be_passed = false;
    // With may_be_passed: from then on some is kept for it once it is first in line; before that
    // only if it can be promised some, as what is in its way is known to end.
    Instant room_kept_from;
    friend bool operator==(const StartEstimate&, const StartEstimate&) = default;
};

// `line`: the waiting jobs of the pool, the next one first; those beyond kEstimatedMax are left
// out.
inline constexpr std::size_t kEstimatedMax = 10'000;
std::map<JobId, StartEstimate> estimate_starts(const ClusterState& state, PoolId pool,
                                               const std::vector<JobId>& line);

}  // namespace gpuctl
