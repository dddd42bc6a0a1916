#pragma once
// Lets the caller of a search end it early.

#include <functional>

namespace gpuctl::whatif {

// Called before each trial or simulated time: may the search continue? False ends the search with
// the results so far. The caller has a clock; the search has none. An empty function always
// continues.
using GoOn = std::function<bool()>;

}  // namespace gpuctl::whatif
