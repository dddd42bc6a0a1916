#include "daemon/api/preflight/pod_quota.hpp"

#include "daemon/api/policy/policy_layers.hpp"
#include "policy_document/objects/objects.hpp"
#include "scheduler/state/jobs/finished_job.hpp"

namespace gpuctl::api {
namespace {

bool holds_pods(const ClusterState& state, const JobRow& job) {
    return job.workload.state != WorkloadState::deleting && !has_ended(state, job);
}

}  // namespace

std::int64_t pods_stated(const JobSpec& spec) {
    switch (spec.kind) {
        case JobKind::training:
            return spec.replicas_max;
        case JobKind::notebook:
            return 1;
        case JobKind::inference:
        case JobKind::compute:
            break;
    }
    return spec.service.replicas;
}

std::int64_t pods_of_namespace(const ClusterState& state, const std::string& name,
                               const ObjectKey& except) {
    std::int64_t pods = 0;
    const auto& jobs = state.jobs.jobs_by_key();
    for (auto one = jobs.lower_bound({name, ""}); one != jobs.end(); ++one) {
        if (one->first.namespace_name != name) break;
        const JobRow& job = state.job(one->second);
        const bool counts = job.record && one->first != except && holds_pods(state, job);
        if (counts) pods += pods_stated(job.record->spec);
    }
    const auto& all = state.pods.pods_by_key();
    for (auto one = all.lower_bound({name, ""}); one != all.end(); ++one) {
        if (one->first.namespace_name != name) break;
        const PodRow& pod = state.pod(one->second);
        const bool is_placed = pod.bind.state != BindState::foreign &&
                               pod.bind.state != BindState::done &&
                               pod.bind.state != BindState::seat;
        if (is_placed && pod.job.exists() && !state.job(pod.job).record) ++pods;
    }
    return pods;
}

std::optional<Error> pod_quota_refusal(const Services& services, const std::string& doing,
                                       const JobSpec& spec) {
    const std::string& name = spec.key.namespace_name;
    const PolicyObject* object = services.policy->find({PolicyKind::quota, name});
    if (object == nullptr) return std::nullopt;
    const auto quota = config::quota_in(object->document);
    if (!quota || !quota->pods) return std::nullopt;
    const std::int64_t used = pods_of_namespace(services.engine.state(), name, spec.key);
    const std::int64_t wanted = pods_stated(spec);
    if (used + wanted <= *quota->pods) return std::nullopt;
    return make_error(ErrorCode::QuotaExceeded,
                      doing + ": the quota " + quota->name + " of namespace " + name + " allows " +
                          std::to_string(*quota->pods) + " pods, other jobs have " +
                          std::to_string(used) + ", and the job needs " + std::to_string(wanted) +
                          "; delete or scale down jobs of the namespace, or raise `pods` of the "
                          "quota");
}

}  // namespace gpuctl::api
