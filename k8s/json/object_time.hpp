#pragma once
// Times as API objects write them: RFC 3339 in UTC, whole seconds (metav1.Time) or six decimals
// (metav1.MicroTime).

#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"

namespace gpuctl::k8s {

// The default Instant (unset) for anything that is no such time.
Instant parse_object_time(std::string_view text);
std::string format_object_time(Instant time);
std::string format_micro_time(Instant time);

}  // namespace gpuctl::k8s
