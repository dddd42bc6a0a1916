#pragma once
// A job whose pods were never made waits for its controller, and only the cluster knows what keeps
// that from making them.

#include "daemon/api/services.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

// Whether the cluster may know more than the engine about why this job waits.
bool waits_for_controller(const JobView& job);

// What the cluster says, in a few seconds at most; empty: nothing, or it does not answer (no reason
// to keep back what the engine knows).
aio::Task<std::string> controller_words(Services& services, ObjectKey job);

void add_controller_words(const std::string& words, Explanation& explanation);

}  // namespace gpuctl::api
