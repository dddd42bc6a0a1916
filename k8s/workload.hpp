#pragma once
// A submitted job -> the API objects that make it real (contract.md 4):
//   training            -> Job (Indexed, gang), with more than one rank also a headless Service
//   inference, compute  -> Deployment + Service svc-NAME
//   notebook            -> StatefulSet + Service svc-NAME
// Pure: JobRecord in, JSON text for server-side apply out.

#include <optional>
#include <string>
#include <string_view>

#include "k8s/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job_spec.hpp"

namespace gpuctl::k8s {

struct WorkloadSettings {
    std::string scheduler_name = "gpuctl";
    LabelKeys labels;
};

// Where the objects of a job of this kind live.
struct WorkloadPaths {
    std::string_view api_version;  // batch/v1, apps/v1
    std::string_view kind;         // Job, Deployment, StatefulSet
    std::string object;            // /apis/batch/v1/namespaces/N/jobs/NAME
    std::string service;           // /api/v1/namespaces/N/services/svc-NAME
};
// Both names are DNS labels: only such have a path of their own (percent-encoding leaves ".." as it
// is). All else is refused before it is stored; this holds for what an older journal may bring.
bool is_addressable(const ObjectKey& job);
// For addressable jobs only.
WorkloadPaths workload_paths(JobKind kind, const ObjectKey& job);

// ValidationFailed for what Kubernetes cannot be asked for yet: counted shares, claimed volumes.
Result<std::string> workload_body(const JobRecord& job, const WorkloadSettings& settings);

[[nodiscard]] bool needs_service(const JobSpec& spec);
// The Service belongs to the workload (ruling 15): `owner_uid` is the uid of the applied object.
std::string service_body(const JobRecord& job, const WorkloadSettings& settings,
                         std::string_view owner_uid);

// gpuctl-high, gpuctl-medium, gpuctl-low
std::string priority_class_name(JobPriority priority);
std::string priority_class_body(JobPriority priority);

}  // namespace gpuctl::k8s
