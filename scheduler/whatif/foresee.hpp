#pragma once
// When a waiting job starts if nothing more is submitted. A copy of the engine is simulated, in
// which running work ends and waiting work starts by the engine's own decisions, with all limits,
// guarantees, shares, windows and reservations. This is slower and more accurate than
// estimate_starts(), which knows only GPUs and is for lists.
// which knows only GPUs and is for lists.
// Not simulated: preempted jobs do not return, and elastic jobs do not grow.
// Not simulated: preempted jobs do not return, elastic jobs do not grow.

#include <string_view>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/plan/estimate/start_estimate.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::whatif {

// `exported`: Engine::export_state(). `likely` assumes that all work runs for its median, `latest`
// that it runs to its limit. A time that depends on an unknown end is never. The last estimate,
// which is that of the list, is returned if too much happens before the start, or if `go_on` ends
// the search. Nothing: the job does not wait in that state.
std::optional<StartEstimate> foresee_start(std::string_view exported, const ObjectKey& job,
                                           Instant now, const std::optional<StartEstimate>& listed,
                                           const GoOn& go_on = {});

// Makes `blocker` consistent with the estimate: the time of the head-of-line reservation is
// computed from limits alone and may be later.
void keep_to(const std::optional<StartEstimate>& listed, Explanation& blocker);

}  // namespace gpuctl::whatif
