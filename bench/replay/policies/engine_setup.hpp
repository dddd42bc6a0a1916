#pragma once
// The configuration for each kind of suite: one named policy for all files of a kind, and the
// queues of the trace.

#include "bench/replay/policies/engine_policy.hpp"
#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

// Nothing: the engine cannot replay this suite yet.
std::optional<EngineSetup> engine_setup_for(Suite suite, const EngineChoice& choice,
                                            const Trace& trace);

// The named policy of a suite (docs/policies); empty for openb, where the engine only places tasks.
std::string_view named_policy_of(Suite suite);

}  // namespace gpuctl::replay
