#pragma once
// Every number of a reason, once more and by hand: over the facts, not over the engine's columns.

#include <string>

#include "support/engine_world.hpp"

namespace gpuctl::test {

void recount(const EngineWorld& world, const std::string& job, const std::string& space);

}  // namespace gpuctl::test
