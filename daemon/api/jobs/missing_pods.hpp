#pragma once
// The reason why a job has no pods: it waits for its controller, and only the cluster knows why
// that makes none.

#include "daemon/api/http/services.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// Whether the cluster may know more than the engine about why this job waits.
bool waits_for_controller(const JobView& job);

// The cluster's reason, within a few seconds; empty: none, or no answer (the engine's reasons are
// shown anyway).
aio::Task<std::string> controller_words(Services& services, ObjectKey job);

void add_controller_words(const std::string& words, Explanation& explanation);

}  // namespace gpuctl::api
