#pragma once
// What gpuctld.yaml says for each kind of suite: one configuration for all files of a kind.

#include "bench/replay/engine_policy.hpp"
#include "bench/replay/suite.hpp"

namespace gpuctl::replay {

// Nothing: the engine cannot replay this suite yet.
std::optional<EngineSetup> engine_setup_for(Suite suite, const Trace& trace);

}  // namespace gpuctl::replay
