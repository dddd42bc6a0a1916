#pragma once
// Recounts every number of a reason from the facts, without the engine's columns.

#include <string>

#include "support/engine_world.hpp"

namespace gpuctl::test {

void recount(const EngineWorld& world, const std::string& job, const std::string& space);

}  // namespace gpuctl::test
