#pragma once
// A submitted job -> its API objects:
//   training            -> Job (Indexed, gang), with more than one rank also a headless Service
//   inference, compute  -> Deployment + Service svc-NAME
//   notebook            -> StatefulSet + Service svc-NAME
// Pure: JobRecord in, JSON text for server-side apply out.

#include <optional>
#include <string>
#include <string_view>

#include "k8s/json/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl::k8s {

struct WorkloadSettings {
    std::string scheduler_name = "gpuctl";
    LabelKeys labels;
};

// API paths of the objects of a job of this kind.
struct WorkloadPaths {
    std::string_view api_version;  // batch/v1, apps/v1
    std::string_view kind;         // Job, Deployment, StatefulSet
    std::string object;            // /apis/batch/v1/namespaces/N/jobs/NAME
    std::string service;           // /api/v1/namespaces/N/services/svc-NAME
};
// Both names are DNS labels: other names have no safe path (percent-encoding leaves ".."
// unchanged). Such names are refused before they are stored; this check is for old journals.
bool is_addressable(const ObjectKey& job);
// For addressable jobs only.
WorkloadPaths workload_paths(JobKind kind, const ObjectKey& job);

// ValidationFailed for features that have no Kubernetes form yet: counted shares, claimed volumes.
Result<std::string> workload_body(const JobRecord& job, const WorkloadSettings& settings);

[[nodiscard]] bool needs_service(const JobSpec& spec);
// The Service is garbage-collected with the workload: `owner_uid` is the uid of the applied object.
// Empty: it has no owner, while its workload is created again.
std::string service_body(const JobRecord& job, const WorkloadSettings& settings,
                         std::string_view owner_uid);

// gpuctl-high, gpuctl-medium, gpuctl-low
std::string priority_class_name(JobPriority priority);
std::string priority_class_body(JobPriority priority);

}  // namespace gpuctl::k8s
