#pragma once
// Lets the caller of a search end it early.

#include <functional>

namespace gpuctl::whatif {

// Called before each trial or simulated time: may the search continue? False ends it with what was
// found. The caller has a clock; the search has none. Empty: always.
using GoOn = std::function<bool()>;

}  // namespace gpuctl::whatif
