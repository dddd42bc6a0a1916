// Every key of gpuctld.yaml, its bounds and its meaning.

#include "daemon/config/tables.hpp"

#include "daemon/config/budget_keys.hpp"
#include "daemon/config/maintenance_keys.hpp"
#include "daemon/config/queue_keys.hpp"
#include "daemon/text/url.hpp"
#include "scheduler/model/quantity.hpp"

namespace gpuctl::config {
namespace {

constexpr std::int64_t kKi = 1 << 10, kMi = 1 << 20, kGi = 1 << 30;

// GPUs in thousandths, absent or not.
template <typename T>
Key<T> gpus(std::string_view name, GpuMilli T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "GPUs");
                if (milli) value.*member = GpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) { shown.value = format_gpus(value.*member); }};
}

template <typename T>
Key<T> gpus(std::string_view name, std::optional<GpuMilli> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "GPUs");
                if (milli) value.*member = GpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_gpus((value.*member).value_or(whole_gpus(8)));
            }};
}

template <typename T>
Key<T> cores(std::string_view name, std::optional<CpuMilli> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "cores");
                if (milli) value.*member = CpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_cpu((value.*member).value_or(CpuMilli{64'000}));
            }};
}

template <typename T>
Key<T> memory(std::string_view name, std::optional<Bytes> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                if (const auto bytes = read_size(field, 0, INT64_MAX / 4)) {
                    value.*member = Bytes{*bytes};
                }
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_bytes((value.*member).value_or(Bytes{256 * kGi}));
            }};
}

// IPv6 with brackets or without; check() reports what is no address.
Key<Server> listen_address(std::string_view meaning) {
    Key<Server> key = text("address", &Server::address, meaning);
    key.read = [](const wire::Field& field, Server& server) {
        read_text(field, server.address);
        if (auto host = gpuctl::text::parse_host(server.address)) server.address = std::move(*host);
    };
    return key;
}

// The section of a mode is shown as a comment while the other mode is chosen.
template <typename Section>
Key<Cluster> mode_section(std::string_view name, Section Cluster::* member, ClusterMode mode,
                          std::string_view meaning) {
    Key<Cluster> key = section(name, member, meaning);
    key.show = [member, mode](const Cluster& cluster, Shown& shown) {
        shown.form = Shown::Form::map;
        shown.absent = cluster.mode != mode;
        shown.members = show_struct(cluster.*member);
    };
    return key;
}

}  // namespace

template <>
const std::vector<Key<TlsFiles>>& keys<TlsFiles>() {
    static const std::vector<Key<TlsFiles>> table = {
        text("certificateFile", &TlsFiles::certificate_file, "PEM chain, read again on SIGHUP"),
        text("keyFile", &TlsFiles::key_file, "PEM private key"),
        text("clientCaFile", &TlsFiles::client_ca_file,
             "PEM bundle: clients must show a certificate signed by it; \"\": they need none"),
    };
    return table;
}

template <>
const std::vector<Key<Server>>& keys<Server>() {
    static const std::vector<Key<Server>> table = {
        listen_address("where to listen; anything but loopback needs tls and tokensFile"),
        count("port", &Server::port, 0, 65'535, "TCP port; 0 takes a free one"),
        optional_section("tls", &Server::tls,
                         TlsFiles{"/etc/gpuctl/tls.crt", "/etc/gpuctl/tls.key", ""},
                         "serve HTTPS; left out: plain HTTP"),
        text("tokensFile", &Server::tokens_file,
             "lines \"token role name\" (viewer, user, operator or admin); \"\": no sign-in, "
             "loopback only"),
        flag("metricsNeedToken", &Server::metrics_need_token, "ask for a token on /metrics too"),
        count("connectionsMax", &Server::connections_max, 1, 1'000'000,
              "open connections; more are turned away"),
        size("bodyBytesMax", &Server::body_bytes_max, kKi, kMi,
             "largest request body; more is answered with 413"),
        count("logStreamsMax", &Server::log_streams_max, 1, 1'000'000,
              "log followers at once; more are turned away"),
        span("requestTimeout", &Server::request_timeout, kMsPerSecond, kMsPerHour,
             "a request must be read and answered in this time"),
        span("shutdownTimeout", &Server::shutdown_timeout, kMsPerSecond, kMsPerHour,
             "after SIGTERM: time to finish what has begun"),
    };
    return table;
}

template <>
const std::vector<Key<Lease>>& keys<Lease>() {
    static const std::vector<Key<Lease>> table = {
        flag("enabled", &Lease::enabled, "elect a leader; switch off only where one runs"),
        text("namespace", &Lease::namespace_name,
             "of the Lease object; every gpuctld of a cluster must name the same"),
        text("name", &Lease::name, "of the Lease object"),
        span("duration", &Lease::duration, 100, kMsPerHour,
             "others wait this long before they take over"),
        span("renewDeadline", &Lease::renew_deadline, 50, kMsPerHour,
             "a leader that could not renew for this long steps down"),
        span("retryPeriod", &Lease::retry_period, 10, kMsPerHour, "between attempts"),
    };
    return table;
}

template <>
const std::vector<Key<OwnPod>>& keys<OwnPod>() {
    static const std::vector<Key<OwnPod>> table = {
        text("namespace", &OwnPod::namespace_name, "metadata.namespace"),
        text("name", &OwnPod::name, "metadata.name"),
        text("uid", &OwnPod::uid, "metadata.uid"),
        text("container", &OwnPod::container, "the container's name in the pod"),
    };
    return table;
}

template <>
const std::vector<Key<Kubernetes>>& keys<Kubernetes>() {
    static const std::vector<Key<Kubernetes>> table = {
        text("kubeconfig", &Kubernetes::kubeconfig, "file; \"\": the pod's service account"),
        text("context", &Kubernetes::context, "in the kubeconfig; \"\": its current-context"),
        text("schedulerName", &Kubernetes::scheduler_name,
             "pods with this spec.schedulerName are placed, no others"),
        section("lease", &Kubernetes::lease, "leader election"),
        section("pod", &Kubernetes::pod,
                "this gpuctld's pod (deploy.yaml): one that follows it takes over at once"),
        count("bindsInFlightMax", &Kubernetes::binds_in_flight_max, 1, 1'024, "binds at once"),
        span("bindTimeout", &Kubernetes::bind_timeout, kMsPerSecond, kMsPerHour,
             "at most lease.duration minus lease.renewDeadline"),
        choice("events", &Kubernetes::events,
               {{"off", KubernetesEvents::off},
                {"failures", KubernetesEvents::failures},
                {"all", KubernetesEvents::all}},
               "Event objects to write: off, failures or all"),
        count("conditionsPerSecond", &Kubernetes::conditions_per_second, 1, 1'000,
              "conditions of waiting pods; five times as many while no pod is being bound"),
        count("successEventsPerSecond", &Kubernetes::success_events_per_second, 0, 1'000,
              "events of bound pods; ten times as many while no pod is being bound"),
        count("failureEventsPerSecond", &Kubernetes::failure_events_per_second, 0, 1'000,
              "events of waiting pods"),
        texts("hostPathRoots", &Kubernetes::host_path_roots,
              "workdirs of jobs must lie below one of these; []: any absolute path"),
    };
    return table;
}

template <>
const std::vector<Key<EmbeddedNodes>>& keys<EmbeddedNodes>() {
    static const std::vector<Key<EmbeddedNodes>> table = {
        required(text("name", &EmbeddedNodes::name, "the nodes are called name-0, name-1, ...")),
        count("count", &EmbeddedNodes::count, 1, 100'000, "how many of them"),
        text("pool", &EmbeddedNodes::pool, "the pool they belong to"),
        text("gpuResource", &EmbeddedNodes::gpu_resource, "resource name of their GPUs"),
        text("gpuModel", &EmbeddedNodes::gpu_model, "what gpuType of a job asks for"),
        count("gpus", &EmbeddedNodes::gpus, 0, 1'024, "per node"),
        texts("migSlices", &EmbeddedNodes::mig_slices,
              "MIG profiles that each GPU is cut into, such as [3g.40gb, 2g.20gb]; []: none"),
        count("gpuReplicas", &EmbeddedNodes::gpu_replicas, 1, 1'000,
              "shares that each GPU is offered as; 1: whole GPUs"),
        count("cpuCores", &EmbeddedNodes::cpu_cores, 1, 100'000, "per node"),
        count("memoryGib", &EmbeddedNodes::memory_gib, 1, 1'000'000, "per node, in GiB"),
        text_map("labels", &EmbeddedNodes::labels, "further labels"),
        count("nodesPerRack", &EmbeddedNodes::nodes_per_rack, 0, 100'000,
              "so many stand in one rack, name-rack-0 and so on; 0: in none that is known"),
    };
    return table;
}

template <>
const std::vector<Key<Embedded>>& keys<Embedded>() {
    static const std::vector<Key<Embedded>> table = {
        list("nodes", &Embedded::nodes, EmbeddedNodes{}, "groups of equal virtual nodes"),
        count("seed", &Embedded::seed, 0, INT64_MAX, "of every random choice"),
        span("imagePull", &Embedded::image_pull, 0, kMsPerHour, "median time to pull an image"),
        span("containerStart", &Embedded::container_start, 0, kMsPerHour,
             "median time to start a container"),
        span("trainingRunTime", &Embedded::training_run_time, kMsPerSecond, 365 * kMsPerDay,
             "of a training job that does not say expectedRunTime"),
    };
    return table;
}

template <>
const std::vector<Key<Cluster>>& keys<Cluster>() {
    static const std::vector<Key<Cluster>> table = {
        choice("mode", &Cluster::mode,
               {{"embedded", ClusterMode::embedded}, {"kubernetes", ClusterMode::kubernetes}},
               "embedded (a virtual cluster in the process) or kubernetes; never guessed"),
        mode_section("kubernetes", &Cluster::kubernetes, ClusterMode::kubernetes,
                     "with mode: kubernetes only"),
        mode_section("embedded", &Cluster::embedded, ClusterMode::embedded,
                     "with mode: embedded only"),
    };
    return table;
}

template <>
const std::vector<Key<ModelLimit>>& keys<ModelLimit>() {
    static const std::vector<Key<ModelLimit>> table = {
        required(text("model", &ModelLimit::model, "as the nodes' label says")),
        gpus("guaranteed", &ModelLimit::guaranteed, "GPUs that are served first"),
        gpus("maximum", &ModelLimit::maximum, "GPUs never held beyond; left out: no limit"),
    };
    return table;
}

template <>
const std::vector<Key<QueuePolicy>>& keys<QueuePolicy>() {
    static const std::vector<Key<QueuePolicy>> table = {
        required(text("name", &QueuePolicy::name, "what job.queue says")),
        count("priority", &QueuePolicy::priority, -1'000'000, 1'000'000,
              "queues with more of it are served first"),
        count("weight", &QueuePolicy::weight, 1, 1'000'000,
              "share among queues of equal priority; never an order"),
        order(&QueuePolicy::order),
        gpus("guaranteed", &QueuePolicy::guaranteed,
             "GPUs that are served first; at least what its sub-queues and models are guaranteed"),
        gpus("maximum", &QueuePolicy::maximum, "GPUs never held beyond; left out: the whole pool"),
        gpus("borrowingLimit", &QueuePolicy::borrowing_limit,
             "GPUs above the guarantee; left out: up to the maximum"),
        gpus("lendingLimit", &QueuePolicy::lending_limit,
             "GPUs of the guarantee, and of each model's, that others may use while they are idle; "
             "left "
             "out: all"),
        optional_count("maxJobs", &QueuePolicy::jobs_maximum, 1, 1'000'000,
                       "jobs that run at once; left out: no limit"),
        gpus("maxGpuPerJob", &QueuePolicy::gpus_per_job_maximum, "left out: no limit"),
        list("models", &QueuePolicy::models, ModelLimit{"A100-100G", whole_gpus(2), whole_gpus(4)},
             "what it is guaranteed and may hold of single GPU models"),
        budget(&QueuePolicy::budget, "GPU time, with every queue below it; left out: no limit"),
        sub_queues(),
    };
    return table;
}

template <>
const std::vector<Key<PoolPolicy>>& keys<PoolPolicy>() {
    static const std::vector<Key<PoolPolicy>> table = {
        required(text("name", &PoolPolicy::name, "what resources.pool says")),
        prose("description", &PoolPolicy::description, "for people"),
        order(&PoolPolicy::order),
        queue_tree("a queue called default exists anyway"),
        section("backfill", &PoolPolicy::backfill,
                "when the first in line finds no room, or a limit stops it"),
        section("preemption", &PoolPolicy::preemption, "whom a job that finds no room has stopped"),
        reserve(),
    };
    return table;
}

template <>
const std::vector<Key<PoolQuota>>& keys<PoolQuota>() {
    static const std::vector<Key<PoolQuota>> table = {
        required(text("pool", &PoolQuota::pool, "the pool")),
        gpus("gpuMaximum", &PoolQuota::gpu_maximum, "held of it at once; left out: no limit"),
        budget(&PoolQuota::budget, "GPU time there; left out: no limit"),
    };
    return table;
}

template <>
const std::vector<Key<TenantPolicy>>& keys<TenantPolicy>() {
    static const std::vector<Key<TenantPolicy>> table = {
        required(text("name", &TenantPolicy::name, "the namespace")),
        count("weight", &TenantPolicy::weight, 1, 1'000'000, "share inside every queue"),
        gpus("gpuMaximum", &TenantPolicy::gpu_maximum, "over all pools; left out: no limit"),
        cores("cpuMaximum", &TenantPolicy::cpu_maximum, "cores; left out: no limit"),
        memory("memoryMaximum", &TenantPolicy::memory_maximum, "left out: no limit"),
        text("queue", &TenantPolicy::queue,
             "of jobs that name none, in pools that have it; \"\": default"),
        list("pools", &TenantPolicy::pools, PoolQuota{"training-pool", whole_gpus(12)},
             "limits in single pools"),
    };
    return table;
}

template <>
const std::vector<Key<Policy>>& keys<Policy>() {
    static const std::vector<Key<Policy>> table = {
        list("pools", &Policy::pools,
             PoolPolicy{"training-pool", "large training jobs", example_queues()},
             "pools with queues; a pool called default exists anyway"),
        list("tenants", &Policy::tenants,
             TenantPolicy{"team-a",
                          2,
                          whole_gpus(16),
                          CpuMilli{256'000},
                          Bytes{1024 * kGi},
                          "llm",
                          {PoolQuota{"training-pool", whole_gpus(12)}}},
             "limits of a namespace"),
        count("defaultTenantWeight", &Policy::default_tenant_weight, 1, 1'000'000,
              "of namespaces without an entry"),
        gpus("defaultTenantGpuMaximum", &Policy::default_tenant_gpu_maximum,
             "of namespaces without an entry; left out: no limit"),
        count("podsReservedPerNode", &Policy::pods_reserved_per_node, 0, 1'000, "for DaemonSets"),
        span("backoffInitial", &Policy::backoff_initial, 1, kMsPerHour,
             "after an error of the cluster; doubles"),
        span("backoffMaximum", &Policy::backoff_maximum, 1, kMsPerDay, "and never waits longer"),
        span(
            "gangBindDeadline", &Policy::gang_bind_deadline, kMsPerSecond, kMsPerHour,
            "a gang that is half bound for this long is rolled back; one that ran as a whole keeps "
            "what it has ..."),
        span("gangRepairDeadline", &Policy::gang_repair_deadline, 0, 30 * kMsPerDay,
             "... until it has lacked ranks for this long: then jobs that fit on what it holds may "
             "have it, and it waits as a whole; 0s: never"),
        span("usageHalfLife", &Policy::usage_half_life, 0, 60 * kMsPerDay,
             "what was used counts half after this long; 0s: only what is held counts"),
        count("ageingStep", &Policy::ageing_step, 0, 1'000'000,
              "added to a job's priority (low 100, medium 500000, high 1000000) ..."),
        span("ageingEvery", &Policy::ageing_every, kMsPerSecond, kMsPerDay,
             "... for each so long waited"),
        count("ageingMaximum", &Policy::ageing_maximum, 0, 2'000'000, "... up to this much"),
        count("evictionsPerJobPerHour", &Policy::evictions_per_job_per_hour, 0, 1'000,
              "how often a gang, or each pod of another job, may be moved for others; 0: never"),
        span("runTimeProtected", &Policy::run_time_protected, 0, 30 * kMsPerDay,
             "so long after its start nothing is stopped for others"),
        span("growthPause", &Policy::growth_pause, 0, kMsPerDay,
             "so long after it changed size, or started, an elastic job does not grow"),
        span("resizePaysWithin", &Policy::resize_pays_within, 0, kMsPerDay,
             "elastic jobs with a speedup change size where that pays within so long; 0s: like "
             "those without"),
        count("planAttemptsMax", &Policy::plan_attempts_max, 1, 10'000'000, "tries in one Plan"),
        count(
            "finishedJobsDetailed", &Policy::finished_jobs_detailed, 0, 100'000,
            "finished jobs that are kept in full, with pods, YAML, events and (embedded) logs: the "
            "newest ..."),
        count(
            "finishedJobsMaximum", &Policy::finished_jobs_maximum, 0, 1'000'000,
            "... and altogether, the older ones as a summary; beyond, the oldest are removed ..."),
        span("finishedJobsKeptFor", &Policy::finished_jobs_kept_for, kMsPerMinute, 366 * kMsPerDay,
             "... and all of them this long after their end, to the minute"),
        maintenance(),
        reservations(),
        choice("drainUnhealthy", &Policy::unhealthy_drain, drains(),
               "who is stopped on a node that is told to be unhealthy, which takes no work anyway"),
    };
    return table;
}

template <>
const std::vector<Key<Journal>>& keys<Journal>() {
    static const std::vector<Key<Journal>> table = {
        text("directory", &Journal::directory,
             "\"\": $STATE_DIRECTORY, else $XDG_STATE_HOME/gpuctl, else ~/.local/state/gpuctl"),
        size("segmentBytesMax", &Journal::segment_bytes_max, 64 * kKi, 4 * kGi,
             "a journal file is closed at this size"),
        count("snapshotEveryInputs", &Journal::snapshot_every_inputs, 1, 1'000'000'000,
              "the state is written whole after so many inputs"),
        size("pastBytesMax", &Journal::past_bytes_max, 0, 1024 * kGi,
             "older journal files are kept for previews, up to this much; 0: removed"),
        count("queueMax", &Journal::queue_max, 16, 10'000'000,
              "inputs waiting for the engine; beyond, submits are answered with 429"),
    };
    return table;
}

template <>
const std::vector<Key<Logs>>& keys<Logs>() {
    static const std::vector<Key<Logs>> table = {
        count("ringLinesPerSubscriber", &Logs::ring_lines_per_subscriber, 1, 1'000'000,
              "a reader further behind loses the oldest lines and is told"),
        count("historyLinesPerPod", &Logs::history_lines_per_pod, 0, 1'000'000,
              "kept for readers that come back"),
        size("lineBytesMax", &Logs::line_bytes_max, 256, 16 * kMi,
             "of longer lines the newest part is kept"),
        span("pingInterval", &Logs::ping_interval, kMsPerSecond, kMsPerHour,
             "a reader that does not answer is dropped"),
    };
    return table;
}

template <>
const std::vector<Key<Metrics>>& keys<Metrics>() {
    static const std::vector<Key<Metrics>> table = {
        count("tenantLabelsMax", &Metrics::tenant_labels_max, 1, 10'000,
              "further namespaces are counted as \"other\""),
    };
    return table;
}

template <>
const std::vector<Key<Logging>>& keys<Logging>() {
    static const std::vector<Key<Logging>> table = {
        choice<Logging, std::string>(
            "level", &Logging::level,
            {{"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}},
            "debug, info, warn or error"),
        choice<Logging, std::string>("format", &Logging::format,
                                     {{"text", "text"}, {"json", "json"}}, "text or json"),
    };
    return table;
}

template <>
const std::vector<Key<Config>>& keys<Config>() {
    static const std::vector<Key<Config>> table = {
        section("server", &Config::server, "the REST API"),
        section("cluster", &Config::cluster, "what is scheduled"),
        section("policy", &Config::policy, "who gets what; may change on SIGHUP"),
        section("journal", &Config::journal, "what survives a crash"),
        section("logs", &Config::logs, "following the logs of jobs"),
        section("metrics", &Config::metrics, "/metrics"),
        section("logging", &Config::logging, "gpuctld's own log; level may change on SIGHUP"),
        section("names", &Config::names, "names in the cluster"),
    };
    return table;
}

}  // namespace gpuctl::config
