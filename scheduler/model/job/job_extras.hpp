#pragma once
// What a job document states and the engine does not read: it is checked by
// wire/job/job_extras.cpp, stored with the job, and shown or copied to its objects.

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>

namespace gpuctl {

// autoscaling: stored, and not acted on yet. A target of 0 percent is none.
struct Autoscaling {
    bool enabled = false;
    std::int32_t replicas_min = 1;
    std::int32_t replicas_max = 10;
    std::int32_t gpu_percent = 0;
    std::int32_t gpu_memory_percent = 0;
    std::int32_t cpu_percent = 0;
    friend auto operator<=>(const Autoscaling&, const Autoscaling&) = default;
};
BOOST_DESCRIBE_STRUCT(Autoscaling, (),
                      (enabled, replicas_min, replicas_max, gpu_percent, gpu_memory_percent,
                       cpu_percent))

// model: where the weights come from. Without a name there is none.
struct ModelSource {
    std::string source;
    std::string name;
    std::string version;
    std::string format;
    bool cache = true;
    friend auto operator<=>(const ModelSource&, const ModelSource&) = default;
};
BOOST_DESCRIBE_STRUCT(ModelSource, (), (source, name, version, format, cache))

struct JobExtras {
    // Of the job's objects and its pods.
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> annotations;
    std::int64_t epochs = 0;  // 0: not stated
    std::int64_t batch_size = 0;
    bool has_autoscaling = false;
    Autoscaling autoscaling;
    ModelSource model;
    bool resume_from_checkpoint = false;
    friend auto operator<=>(const JobExtras&, const JobExtras&) = default;
};
BOOST_DESCRIBE_STRUCT(JobExtras, (),
                      (labels, annotations, epochs, batch_size, has_autoscaling, autoscaling, model,
                       resume_from_checkpoint))

}  // namespace gpuctl
