#pragma once
// The turns of the loop as a metric: gpuctld_loop_turn_duration_seconds.

#include "daemon/aio/loop.hpp"
#include "metrics/recorder.hpp"

namespace gpuctl::app {

// From now on, until the loop is told to observe nothing; the recorder outlives that.
void observe_turns(aio::Loop& loop, metrics::Recorder& recorder);

}  // namespace gpuctl::app
