#pragma once
// A change of a submitted job: other contents, another number of replicas, a pause or its end.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/base/boxed.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl {

enum class JobChangeKind : std::uint8_t {
    apply,  // the job is to be as `record` says
    scale,  // a service is to have `replicas`
    pause,  // its pods go; it keeps their GPUs unless `releases`
    resume
};
BOOST_DESCRIBE_ENUM(JobChangeKind, apply, scale, pause, resume)
constexpr std::string_view to_string(JobChangeKind kind) {
    constexpr std::string_view names[] = {"apply", "scale", "pause", "resume"};
    return names[static_cast<std::size_t>(kind)];
}

struct JobChange {
    JobChangeKind kind = JobChangeKind::apply;
    // Of `apply`: with the uid of the job, or with a new one if its object is to be deleted and
    // created again. Of `scale`: only its text counts, which users are shown.
    Boxed<JobRecord> record;
    std::int32_t replicas = 0;
    bool releases = false;
};
BOOST_DESCRIBE_STRUCT(JobChange, (), (kind, record, replicas, releases))

// What of a job's object is to be changed: the rest stays as other clients have made it.
enum class WorkloadPart : std::uint8_t {
    none,
    size,  // its number of pods: replicas, and whether it is suspended
    whole
};
BOOST_DESCRIBE_ENUM(WorkloadPart, none, size, whole)

}  // namespace gpuctl
