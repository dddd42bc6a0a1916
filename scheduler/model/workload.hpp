#pragma once
// What the API server says of a submitted job's object as a whole: its Job, Deployment or
// StatefulSet.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "scheduler/model/pod.hpp"

namespace gpuctl {

enum class WorkloadPhase : std::uint8_t {
    active,     // its controller makes pods, again and again where they fail
    suspended,  // told to make none for now
    complete,
    failed  // given up for good
};
BOOST_DESCRIBE_ENUM(WorkloadPhase, active, suspended, complete, failed)

struct WorkloadFacts {
    ObjectKey key;
    std::string job_uid;  // of the job it was made for
    WorkloadPhase phase = WorkloadPhase::active;
    std::int64_t replicas = -1;  // wanted now; -1: it does not say
    std::string message;         // why it failed, or why no pods can be made
    friend auto operator<=>(const WorkloadFacts&, const WorkloadFacts&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkloadFacts, (), (key, job_uid, phase, replicas, message))

}  // namespace gpuctl
