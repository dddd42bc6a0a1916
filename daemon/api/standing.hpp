#pragma once
// How a job stands, in one sentence: `explain` is asked about jobs that do not wait, too.

#include <string>
#include <vector>

#include "daemon/core/history.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// `events` of the job, newest first: they know why it failed after its pods are gone.
std::string standing_sentence(const JobView& job, const std::vector<core::JobEvent>& events);

}  // namespace gpuctl::api
