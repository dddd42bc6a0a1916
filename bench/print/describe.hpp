#pragma once
// A line of text for every input and every effect, to read a simulated run or a journal.

#include <string>

#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::bench {

std::string describe(const Event& event);
std::string describe(const Effect& effect);

}  // namespace gpuctl::bench
