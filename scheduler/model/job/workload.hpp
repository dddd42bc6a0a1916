#pragma once
// The state of a submitted job's object in the API server: its Job, Deployment or StatefulSet.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "scheduler/model/pod.hpp"

namespace gpuctl {

enum class WorkloadPhase : std::uint8_t {
    active,     // its controller makes pods, and replaces pods that fail
    suspended,  // makes no pods for now
    complete,
    failed  // permanently
};
BOOST_DESCRIBE_ENUM(WorkloadPhase, active, suspended, complete, failed)

struct WorkloadFacts {
    ObjectKey key;
    std::string job_uid;  // uid of the job that the object was created for
    WorkloadPhase phase = WorkloadPhase::active;
    std::int64_t replicas = -1;  // number of pods wanted now; -1: not stated
    std::string message;         // why it failed, or why no pods can be created
    friend auto operator<=>(const WorkloadFacts&, const WorkloadFacts&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkloadFacts, (), (key, job_uid, phase, replicas, message))

}  // namespace gpuctl
