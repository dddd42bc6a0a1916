#pragma once
// The turns of the loop as a metric: gpuctld_loop_turn_duration_seconds.

#include "aio/loop.hpp"
#include "metrics/recorder.hpp"

namespace gpuctl::app {

// Until the loop's observer is removed; the recorder must outlive that.
void observe_turns(aio::Loop& loop, metrics::Recorder& recorder);

}  // namespace gpuctl::app
