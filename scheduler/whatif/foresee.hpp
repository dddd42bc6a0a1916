#pragma once
// When a waiting job starts if nothing more is submitted: a copy of the engine is simulated, in
// which running work ends and waiting work starts by the engine's own decisions, with all limits,
// guarantees, shares, windows and reservations. Slower and more accurate than estimate_starts(),
// which knows only GPUs and is for lists.
//
// Not simulated: preempted jobs do not return, elastic jobs do not grow.

#include <string_view>

#include "scheduler/model/explanation/explanation.hpp"
#include "scheduler/model/pod.hpp"
#include "scheduler/plan/estimate/start_estimate.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::whatif {

// `exported`: Engine::export_state(). `likely`: all work runs for its median; `latest`: to its
// limit. A time is never if it depends on an unknown end. `told`, the estimate of the list, is
// returned if too much happens before the start, or if `go_on` ends the search. Nothing: the job
// does not wait there.
std::optional<StartEstimate> foresee_start(std::string_view exported, const ObjectKey& job,
                                           Instant now, const std::optional<StartEstimate>& told,
                                           const GoOn& go_on = {});

// Makes `blocker` consistent with `told`: the head-of-line reservation counts with limits alone,
// and may be later.
void keep_to(const std::optional<StartEstimate>& told, Explanation& blocker);

}  // namespace gpuctl::whatif
