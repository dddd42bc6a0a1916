#pragma once
// Bodies of patches that change the object of a job. Each carries the resourceVersion that was
// read, so that it changes nothing if another client has changed the object since.

#include <string>
#include <string_view>

#include "k8s/workload/workload.hpp"
#include "scheduler/model/effect.hpp"

namespace gpuctl::k8s {

struct UpdateBody {
    std::string_view content_type;
    std::string text;
    bool overrides = false;  // server-side apply: fields of other managers become ours
};

// The suffix of the annotation with the number of replicas that a paused Deployment or StatefulSet
// is to have again.
inline constexpr std::string_view kPausedReplicas = "paused-replicas";

// Of a job that keeps its uid. `size`: only the number of pods, or whether it is suspended. Of a
// Job, whose template is immutable, `whole` adds only its annotations.
Result<UpdateBody> update_body(const UpdateWorkload& order, const WorkloadSettings& settings,
                               std::string_view resource_version);

// The object of a job under another name, which a dry run creates: whether the API server would
// accept it can be asked while the name is taken.
std::string rehearsal_name(std::string_view job);
Result<std::string> rehearsal_body(const JobRecord& job, const WorkloadSettings& settings);

}  // namespace gpuctl::k8s
