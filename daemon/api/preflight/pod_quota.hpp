#pragma once
// `pods` of a namespace's quota: a limit at admission. A create or a change of a job that would
// make more pods is refused; unlike the other amounts of a quota, which the engine has, nothing
// waits for it (docs/adr/0048).

#include <optional>
#include <string>

#include "daemon/api/http/services.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::api {

// The pods that the jobs of a namespace may have: those that submitted jobs state, whether they are
// there or not, and those of other controllers that gpuctl places. Without the job `except`.
std::int64_t pods_of_namespace(const ClusterState& state, const std::string& name,
                               const ObjectKey& except);

// The pods that a job of this description has at most.
std::int64_t pods_stated(const JobSpec& spec);

// QuotaExceeded; nullopt: the quota has no limit of pods, or room. `doing`: "create job a/b".
std::optional<Error> pod_quota_refusal(const Services& services, const std::string& doing,
                                       const JobSpec& spec);

}  // namespace gpuctl::api
