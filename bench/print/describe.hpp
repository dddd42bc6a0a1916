#pragma once
// A line for every input and every effect, for people who read a life or a journal.

#include <string>

#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::bench {

std::string describe(const Event& event);
std::string describe(const Effect& effect);

}  // namespace gpuctl::bench
