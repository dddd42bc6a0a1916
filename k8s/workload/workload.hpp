#pragma once
// A submitted job -> its API objects:
//   training            -> Job (Indexed, gang), with more than one rank also a headless Service
//   inference, compute  -> Deployment + Service svc-NAME
//   notebook            -> StatefulSet + Service svc-NAME
//   storage.<name>      -> PersistentVolumeClaim NAME-<name>, which outlives the job
//   a DeepSpeed file that the command names -> ConfigMap NAME-deepspeed (training)
// Pure: JobRecord in, JSON text for server-side apply out. docs/adr/0048 says why.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/json/labels.hpp"
#include "k8s/workload/network_facts.hpp"
#include "k8s/workload/pod_defaults.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl::k8s {

struct WorkloadSettings {
    std::string scheduler_name = "gpuctl";
    LabelKeys labels;
    std::vector<PodDefaults> pod_defaults = {};
    std::function<NetworkFacts(const JobSpec&)> network = {};  // empty: nothing is known of nodes
};

// API paths of the objects of a job of this kind.
struct WorkloadPaths {
    std::string_view api_version;  // batch/v1, apps/v1
    std::string_view kind;         // Job, Deployment, StatefulSet
    std::string object;            // /apis/batch/v1/namespaces/N/jobs/NAME
    std::string service;           // /api/v1/namespaces/N/services/svc-NAME
    std::string config_map;        // /api/v1/namespaces/N/configmaps/NAME-deepspeed
    std::string claims;            // /api/v1/namespaces/N/persistentvolumeclaims
};
// Both names are DNS labels: other names have no safe path (percent-encoding leaves ".."
// unchanged). Such names are refused before they are stored; this check is for old journals.
bool is_addressable(const ObjectKey& job);
// For addressable jobs only.
WorkloadPaths workload_paths(JobKind kind, const ObjectKey& job);

// ValidationFailed for features that have no Kubernetes form yet: sharing all GPUs of a node.
Result<std::string> workload_body(const JobRecord& job, const WorkloadSettings& settings);

[[nodiscard]] bool needs_service(const JobSpec& spec);
// The Service is garbage-collected with the workload: `owner_uid` is the uid of the applied object.
// Empty: it has no owner, while its workload is created again.
std::string service_body(const JobRecord& job, const WorkloadSettings& settings,
                         std::string_view owner_uid);

// The DeepSpeed files that the command of a training job names without a folder; the container
// finds ours there unless the image has its own.
[[nodiscard]] bool needs_config_map(const JobSpec& spec);
// Owned by the workload, as the Service.
std::string config_map_body(const JobRecord& job, const WorkloadSettings& settings,
                            std::string_view owner_uid);

std::string claim_name(const JobSpec& spec, const VolumeClaim& claim);
// Without an owner: the data outlives the job, and the next job of this name finds it.
std::string claim_body(const JobRecord& job, const VolumeClaim& claim,
                       const WorkloadSettings& settings);
// Why a claim that exists, as JSON, cannot be the job's; empty: it can. `retryable`: it is being
// deleted.
struct ClaimProblem {
    std::string message;
    bool retryable = false;
};
ClaimProblem problem_with_claim(std::string_view existing, const JobSpec& spec,
                                const VolumeClaim& claim, const LabelKeys& labels);

// gpuctl-high, gpuctl-medium, gpuctl-low
std::string priority_class_name(JobPriority priority);
std::string priority_class_body(JobPriority priority);

}  // namespace gpuctl::k8s
