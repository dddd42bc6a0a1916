#include "daemon/api/events/cluster_events.hpp"

#include <algorithm>
#include <optional>

#include "daemon/api/jobs/finished.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kReportedPerJobMax = 50;

bool is_workload(const std::string& kind) {
    return kind == "Job" || kind == "Deployment" || kind == "StatefulSet";
}

// The submitted job of that name.
std::optional<ObjectKey> own_job(const ClusterState& state, const std::string& namespace_name,
                                 std::string name) {
    ObjectKey key{namespace_name, std::move(name)};
    const JobId id = state.jobs.find_job(key);
    if (!id.exists() || !state.job(id).record) return std::nullopt;
    return key;
}

// The job whose volume claim has this name: JOB-VOLUME.
std::optional<ObjectKey> job_of_claim(const ClusterState& state, const ObjectKey& claim) {
    for (std::size_t at = claim.name.find('-'); at != std::string::npos;
         at = claim.name.find('-', at + 1)) {
        const auto job = own_job(state, claim.namespace_name, claim.name.substr(0, at));
        if (!job) continue;
        const JobSpec& spec = state.job(state.jobs.find_job(*job)).record->spec;
        const std::string volume = claim.name.substr(at + 1);
        for (const VolumeClaim& one : spec.claims) {
            if (one.name == volume) return job;
        }
    }
    return std::nullopt;
}

std::optional<ObjectKey> job_of(const ClusterState& state, const ports::ClusterEvent& event) {
    if (event.kind == "Pod") {
        const PodId pod = state.pods.find_pod(event.object);
        if (!pod.exists() || state.pod(pod).bind.state == BindState::foreign) return std::nullopt;
        const JobId job = state.pod(pod).job;
        return job.exists() ? std::optional{state.job(job).key} : std::nullopt;
    }
    const std::string& name = event.object.name;
    if (is_workload(event.kind)) return own_job(state, event.object.namespace_name, name);
    if (event.kind == "ReplicaSet") {  // NAME-HASH
        return own_job(state, event.object.namespace_name, name.substr(0, name.rfind('-')));
    }
    if (event.kind == "PersistentVolumeClaim") return job_of_claim(state, event.object);
    return std::nullopt;
}

// Also of a job that has finished, which the state does not have any more.
bool is_of(const ports::ClusterEvent& event, const JobView& job) {
    if (event.object.namespace_name != job.key.namespace_name) return false;
    if (is_workload(event.kind)) return job.kind && event.object.name == job.key.name;
    if (event.kind != "Pod" || job.summary == nullptr) return false;
    const std::vector<EndedPod>& ended = job.summary->ended_pods;
    return std::any_of(ended.begin(), ended.end(), [&](const EndedPod& pod) {
        return name_of(pod, job.key) == event.object.name;
    });
}

ShownEvent shown(ObjectKey job, const ports::ClusterEvent& event) {
    ShownEvent out;
    out.job = std::move(job);
    out.from = event.from.empty() ? "cluster" : event.from;
    out.event.at = event.at;
    out.event.first_at = event.first_at;
    out.event.warning = event.warning;
    out.event.reason = event.reason;
    out.event.object = event.kind + "/" + event.object.name;
    out.event.message = event.message;
    out.event.count = event.count;
    return out;
}

void sort(std::vector<ShownEvent>& events) {
    std::stable_sort(events.begin(), events.end(), [](const ShownEvent& a, const ShownEvent& b) {
        return a.event.at > b.event.at;
    });
}

}  // namespace

aio::Task<ReportedEvents> read_reported_events(Services& services, std::string namespace_name) {
    constexpr std::chrono::seconds patience{3};
    const aio::Deadline deadline = aio::Deadline::in(patience);
    ReportedEvents out;
    Result<ports::ClusterEvents> read =
        co_await services.cluster.events(std::move(namespace_name), deadline);
    if (!read) {
        out.missing =
            "the events of the kubelet and of controllers are missing: " + read.error().message;
        co_return out;
    }
    out.events = std::move(*read);
    if (out.events.is_cut)
        out.missing =
            "the cluster has more events than gpuctld reads, so some may be missing; "
            "name a namespace or a job";
    co_return out;
}

ShownEvents events_of(const ClusterState& state, std::vector<core::JobEvent> own,
                      const ReportedEvents& reported, const JobView& job) {
    ShownEvents out;
    out.missing = reported.missing;
    for (const ports::ClusterEvent& event : reported.events.list) {
        if (job_of(state, event) == job.key || is_of(event, job))
            out.list.push_back(shown(job.key, event));
    }
    sort(out.list);
    if (out.list.size() > kReportedPerJobMax) out.list.resize(kReportedPerJobMax);
    for (core::JobEvent& event : own) out.list.push_back({job.key, std::move(event)});
    sort(out.list);
    return out;
}

ShownEvents events_of_jobs(const ClusterState& state, std::vector<core::EventOfJob> own,
                           const ReportedEvents& reported) {
    ShownEvents out;
    out.missing = reported.missing;
    for (core::EventOfJob& event : own) {
        out.list.push_back({std::move(event.job), std::move(event.event)});
    }
    for (const ports::ClusterEvent& event : reported.events.list) {
        std::optional<ObjectKey> job = job_of(state, event);
        if (job) out.list.push_back(shown(std::move(*job), event));
    }
    sort(out.list);
    return out;
}

}  // namespace gpuctl::api
