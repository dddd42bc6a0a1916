// A Kubernetes cluster as a backend.

#include <algorithm>
#include <chrono>

#include "aio/entropy.hpp"
#include "daemon/app/backend.hpp"
#include "daemon/diagnostics/log.hpp"
#include "k8s/cluster/kubernetes_cluster.hpp"
#include "wire/job/document.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::app {
namespace {

using metrics::Metric;

constexpr std::chrono::seconds kAskDeadline{3};
constexpr std::chrono::milliseconds kAskPauseMin{500};
constexpr std::chrono::milliseconds kAskPauseMax{10'000};

// A job whose document is not stored, or cannot be read any more, is known by its name and kind: it
// is listed and can be deleted.
std::optional<JobSpec> read_spec(const k8s::WorkloadOrigin& origin, std::int32_t gpu_replicas) {
    Result<std::vector<wire::Document>> documents = wire::parse_yaml(origin.source);
    if (documents && documents->size() == 1) {
        wire::JobDocumentOptions options;
        options.default_namespace = origin.key.namespace_name;
        options.preferred_of_ranks = TopologyLevel::rack;
        options.gpu_replicas = gpu_replicas;
        options.was_accepted = true;
        Result<wire::DecodedJob> decoded = wire::decode_job(documents->front(), options);
        if (decoded) return std::move(decoded->spec);
    }
    JobSpec spec;
    const auto kind = job_kind_of(origin.job_type);
    if (!kind) return std::nullopt;
    spec.kind = *kind;
    return spec;
}

std::vector<k8s::PodDefaults> pod_defaults(const std::vector<config::PodDefaults>& configured) {
    std::vector<k8s::PodDefaults> result;
    for (const config::PodDefaults& one : configured) {
        k8s::PodDefaults& made = result.emplace_back();
        made.pool = one.pool;
        made.service_account = one.service_account;
        made.run_as_user = one.run_as_user;
        made.run_as_group = one.run_as_group;
        made.fs_group = one.fs_group;
        made.run_as_non_root = one.run_as_non_root;
        made.seccomp_profile = one.seccomp_profile;
        made.environment = one.environment;
        for (const config::PodToleration& toleration : one.tolerations) {
            made.tolerations.push_back({toleration.key, toleration.value, toleration.effect});
        }
    }
    return result;
}

k8s::KubernetesSettings kubernetes_settings(const config::Config& config) {
    const config::Kubernetes& source = config.cluster.kubernetes;
    k8s::KubernetesSettings settings;
    settings.kubeconfig = source.kubeconfig;
    settings.context = source.context;
    settings.scheduler_name = source.scheduler_name;
    settings.label_prefix = config.names.label_prefix;
    settings.topology_labels = config.names.topology_labels;
    settings.unhealthy_conditions = config.names.unhealthy_conditions;
    settings.gpu_replicas = config.names.gpu_replicas;
    settings.version = GPUCTL_VERSION;
    settings.pod_defaults = pod_defaults(source.pod_defaults);
    settings.lease_enabled = source.lease.enabled;
    settings.lease.namespace_name = source.lease.namespace_name;
    settings.lease.name = source.lease.name;
    settings.lease.duration = source.lease.duration;
    settings.lease.renew_deadline = source.lease.renew_deadline;
    settings.lease.retry_period = source.lease.retry_period;
    settings.pod = {source.pod.namespace_name, source.pod.name, source.pod.uid,
                    source.pod.container};
    settings.binds_in_flight_max = source.binds_in_flight_max;
    settings.bind_timeout = source.bind_timeout;
    settings.failure_events = source.events != config::KubernetesEvents::off;
    settings.success_events = source.events == config::KubernetesEvents::all;
    settings.failure_events_per_second = source.failure_events_per_second;
    settings.conditions_per_second = source.conditions_per_second;
    settings.success_events_per_second = source.success_events_per_second;
    settings.seed = aio::random_seed();
    settings.on_condition_refused = [](const std::string& why, std::uint64_t refused) {
        log::warn("the API server refuses pod conditions, retrying",
                  {{"err", why}, {"refused", refused}});
    };
    settings.on_event_refused = [](const std::string& why, std::uint64_t refused) {
        log::warn("the API server refuses events", {{"err", why}, {"refused", refused}});
    };
    settings.on_no_policy_kinds = [] {
        log::warn(
            "this cluster does not have the kinds ComputePool and Queue: pools come from labels of "
            "nodes and from gpuctld.yaml only, and gpuctl can make none; apply config/crds.yaml of "
            "this version (kubectl apply -f config/crds.yaml), gpuctld finds them by itself");
    };
    settings.on_pool_label_restored = [](const std::string& node, const std::string& had,
                                         const std::string& pool) {
        log::warn("the pool label of a node differed from the ComputePool that names it; restored",
                  {{"node", node}, {"had", had}, {"pool", pool}});
    };
    settings.read_spec = [replicas = config.names.gpu_replicas](const k8s::WorkloadOrigin& origin) {
        return read_spec(origin, replicas);
    };
    return settings;
}

void fill_cache(metrics::Recorder& recorder, const std::string& resource,
                const k8s::Informer::Figures& figures) {
    recorder.gauge(Metric::cache_objects, {resource}).set(static_cast<double>(figures.objects));
    recorder.counter(Metric::cache_lists, {resource}).raise_to(figures.lists);
    recorder.counter(Metric::cache_watch_errors, {resource}).raise_to(figures.watch_errors);
    recorder.counter(Metric::cache_events, {resource, "changed"})
        .raise_to(figures.events - std::min(figures.events, figures.events_unchanged));
    recorder.counter(Metric::cache_events, {resource, "unchanged"})
        .raise_to(figures.events_unchanged);
}

void fill_kubernetes_figures(metrics::Recorder& recorder, const k8s::KubernetesFigures& figures,
                             const std::string& lease_name) {
    for (const auto& [key, count] : figures.client.requests) {
        recorder
            .counter(Metric::api_requests,
                     {std::to_string(key.second), key.first, figures.client.host})
            .raise_to(count);
    }
    for (const auto& [verb, latency] : figures.client.latency) {
        recorder.histogram(Metric::api_duration, {verb})
            .replace({latency.buckets.begin(), latency.buckets.end()}, latency.sum_seconds);
    }
    recorder.counter(Metric::api_retries).raise_to(figures.client.retries);
    recorder.counter(Metric::api_throttled).raise_to(figures.client.throttled);
    recorder.counter(Metric::api_unknown).raise_to(figures.client.unknown_outcomes);
    recorder.counter(Metric::api_fenced).raise_to(figures.client.refused_by_fence);
    recorder.gauge(Metric::lease_master, {lease_name}).set(figures.lease.leading ? 1 : 0);
    fill_cache(recorder, "pods", figures.pods);
    fill_cache(recorder, "nodes", figures.nodes);
    recorder.counter(Metric::user_events, {"written"}).raise_to(figures.events.written);
    recorder.counter(Metric::user_events, {"failed"}).raise_to(figures.events.failed);
    recorder.counter(Metric::user_events, {"dropped"}).raise_to(figures.events.dropped);
}

// An absent API server does not end the start: /readyz says what the start waits for.
class KubernetesBackend final : public Backend {
public:
    KubernetesBackend(std::unique_ptr<k8s::KubernetesCluster> cluster, std::string lease_name)
        : made_(std::move(cluster)), cluster_(*made_), lease_name_(std::move(lease_name)) {}

    aio::Task<Result<std::string>> learn_cluster_id(WaitsFor waits_for,
                                                    StopAsked stop_asked) override {
        waits_for("reading the cluster's id from the API server");
        auto pause = kAskPauseMin;
        while (!stop_asked()) {
            const aio::Deadline deadline = aio::Deadline::in(kAskDeadline);
            Result<std::string> id = co_await cluster_.cluster_id(deadline);
            if (id) co_return id;
            waits_for("waiting for the API server: " + id.error().message);
            log::warn("cannot read the cluster's id from the API server, retrying",
                      {{"in_ms", pause.count()}, {"err", id.error().message}});
            const aio::Deadline again = aio::Deadline::in(pause);
            const bool slept = co_await aio::sleep_until(again);
            if (!slept) break;
            pause = std::min(pause * 2, kAskPauseMax);
        }
        co_return make_error(ErrorCode::ShuttingDown, "gpuctld was stopped while it was starting");
    }
    std::unique_ptr<ports::Cluster> make_cluster(const journal::Recovered&) override {
        return std::move(made_);
    }
    void fill_metrics(metrics::Recorder& recorder) override {
        fill_kubernetes_figures(recorder, cluster_.figures(), lease_name_);
    }

private:
    std::unique_ptr<k8s::KubernetesCluster> made_;  // until make_cluster()
    k8s::KubernetesCluster& cluster_;
    std::string lease_name_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_kubernetes_backend(aio::Loop& loop,
                                                         const config::Config& config) {
    auto created = k8s::KubernetesCluster::create(loop, kubernetes_settings(config));
    if (!created) return created.error();
    return std::unique_ptr<Backend>{std::make_unique<KubernetesBackend>(
        std::move(*created), config.cluster.kubernetes.lease.name)};
}

// Without a kubeconfig the pod's service account is used, which only that pod can read.
bool kubernetes_files_can_be_checked(const config::Config& config) {
    return !config.cluster.kubernetes.kubeconfig.empty();
}

}  // namespace gpuctl::app
