#pragma once
// The recorder of gpuctld's own metrics.

#include "metrics/names.hpp"
#include "metrics/table_recorder.hpp"

namespace gpuctl::metrics {

using Recorder = RecorderOf<Metric>;

}  // namespace gpuctl::metrics
