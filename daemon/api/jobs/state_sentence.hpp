#pragma once
// The state of a job in one sentence, for `explain` of a job that does not wait.

#include <string>
#include <vector>

#include "daemon/core/history.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// `events` of the job, newest first: they hold the failure reason after its pods are gone.
std::string state_sentence(const JobView& job, const std::vector<core::JobEvent>& events);

}  // namespace gpuctl::api
