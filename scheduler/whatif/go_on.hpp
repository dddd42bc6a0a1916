#pragma once
// How whoever asks a question ends it early.

#include <functional>

namespace gpuctl::whatif {

// Asked before each trial or moment: may it go on? False ends a search with what was found. Whoever
// asks the question has a clock; the search has none. Empty: always.
using GoOn = std::function<bool()>;

}  // namespace gpuctl::whatif
