#pragma once
// When a waiting job starts if nothing more is submitted: a copy of the engine is lived on, in
// which what runs ends and what waits starts by the engine's own decisions, with all limits,
// guarantees, shares, windows and promises. Slower and truer than estimate_starts(), which knows of
// GPUs alone and is for lists.
//
// Not foreseen: jobs that are stopped for others do not come back, elastic ones do not grow.

#include <string_view>

#include "scheduler/model/pod.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/plan/start_estimate.hpp"
#include "scheduler/whatif/remedies.hpp"

namespace gpuctl::whatif {

// `exported`: Engine::export_state(). `likely`: everything lasts as long as the median; `latest`:
// to its limit; each never when it depends on an end that nobody knows. `told`, what the list says,
// stands where too much happens before it starts, or `go_on` says to end. Nothing: it does not wait
// there.
std::optional<StartEstimate> foresee_start(std::string_view exported, const ObjectKey& job,
                                           Instant now, const std::optional<StartEstimate>& told,
                                           const GoOn& go_on = {});

// Where `told` says by when the job starts, the reason beside it says nothing else: what the first
// in line is promised reckons with limits alone, and may be later.
void keep_to(const std::optional<StartEstimate>& told, Explanation& blocker);

}  // namespace gpuctl::whatif
