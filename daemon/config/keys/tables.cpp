// Every key of gpuctld.yaml, its bounds and its meaning.

#include "daemon/config/keys/tables.hpp"

#include "daemon/config/keys/expert_keys.hpp"
#include "daemon/config/keys/policy_section.hpp"
#include "text/url.hpp"

namespace gpuctl::config {
namespace {

constexpr std::int64_t kKi = 1 << 10, kMi = 1 << 20, kGi = 1 << 30;

// IPv6 with brackets or without; check() reports what is no address.
Key<Server> listen_address(std::string_view meaning) {
    Key<Server> key = text("address", &Server::address, meaning);
    key.read = [](const wire::Field& field, Server& server) {
        read_text(field, server.address);
        if (auto host = gpuctl::text::parse_host(server.address)) server.address = std::move(*host);
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
             "PEM bundle: clients must present a certificate signed by it; \"\": no client "
             "certificates"),
    };
    return table;
}

template <>
const std::vector<Key<Server>>& keys<Server>() {
    static const std::vector<Key<Server>> table = {
        listen_address("address to listen on; any other than loopback needs tls and tokensFile"),
        count("port", &Server::port, 0, 65'535, "TCP port; 0 takes a free one"),
        optional_section("tls", &Server::tls,
                         TlsFiles{"/etc/gpuctl/tls.crt", "/etc/gpuctl/tls.key", ""},
                         "serve HTTPS; absent: plain HTTP"),
        text("tokensFile", &Server::tokens_file,
             "lines \"token role name\" (viewer, user, operator or admin); \"\": no "
             "authentication, loopback only"),
        flag("metricsRequireToken", &Server::metrics_need_token,
             "require a token for /metrics too"),
        text(
            "uiDirectory", &Server::ui_directory,
            "files of a web page, read at start and served without a token below /ui/; \"\": none"),
        span("shutdownTimeout", &Server::shutdown_timeout, kMsPerSecond, kMsPerHour,
             "after SIGTERM: time to finish running requests"),
        moved<Server>("connectionsMax", "has moved to expert.server.connectionsMax"),
        moved<Server>("bodyBytesMax", "has moved to expert.server.bodyBytesMax"),
        moved<Server>("logStreamsMax", "has moved to expert.server.logStreamsMax"),
        moved<Server>("requestTimeout", "has moved to expert.server.requestTimeout"),
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
             "other candidates wait this long before they take over"),
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
             "only pods with this spec.schedulerName are placed"),
        section("lease", &Kubernetes::lease, "leader election"),
        section("pod", &Kubernetes::pod,
                "this gpuctld's pod (deploy.yaml): lets a successor take over at once"),
        span("bindTimeout", &Kubernetes::bind_timeout, kMsPerSecond, kMsPerHour,
             "at most lease.duration minus lease.renewDeadline"),
        choice("events", &Kubernetes::events,
               {{"off", KubernetesEvents::off},
                {"failures", KubernetesEvents::failures},
                {"all", KubernetesEvents::all}},
               "Event objects to write: off, failures or all"),
        texts("hostPathRoots", &Kubernetes::host_path_roots,
              "workdirs of jobs must lie below one of these; []: none, [/]: any"),
        list("podDefaults", &Kubernetes::pod_defaults, PodDefaults{},
             "what the pods of submitted jobs get, in every pool or in one"),
        moved<Kubernetes>("bindsInFlightMax", "has moved to expert.kubernetes.bindsInFlightMax"),
        moved<Kubernetes>("conditionsPerSecond",
                          "has moved to expert.kubernetes.conditionsPerSecond"),
        moved<Kubernetes>("successEventsPerSecond",
                          "has moved to expert.kubernetes.successEventsPerSecond"),
        moved<Kubernetes>("failureEventsPerSecond",
                          "has moved to expert.kubernetes.failureEventsPerSecond"),
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
        text("gpuModel", &EmbeddedNodes::gpu_model, "the model, as in a job's gpuType"),
        count("gpus", &EmbeddedNodes::gpus, 0, 1'024, "per node"),
        texts("migSlices", &EmbeddedNodes::mig_slices,
              "MIG profiles of each GPU, such as [3g.40gb, 2g.20gb]; []: none"),
        count("gpuReplicas", &EmbeddedNodes::gpu_replicas, 1, 1'000,
              "shares that each GPU is offered as; 1: whole GPUs"),
        count("cpuCores", &EmbeddedNodes::cpu_cores, 1, 100'000, "per node"),
        count("memoryGib", &EmbeddedNodes::memory_gib, 1, 1'000'000, "per node, in GiB"),
        text_map("labels", &EmbeddedNodes::labels, "further labels"),
        count("nodesPerRack", &EmbeddedNodes::nodes_per_rack, 0, 100'000,
              "nodes per rack, name-rack-0 and so on; 0: racks unknown"),
    };
    return table;
}

template <>
const std::vector<Key<Embedded>>& keys<Embedded>() {
    static const std::vector<Key<Embedded>> table = {
        list("nodes", &Embedded::nodes, EmbeddedNodes{}, "groups of equal virtual nodes"),
        count("seed", &Embedded::seed, 0, INT64_MAX, "seed of every random choice"),
        span("imagePull", &Embedded::image_pull, 0, kMsPerHour, "median time to pull an image"),
        span("containerStart", &Embedded::container_start, 0, kMsPerHour,
             "median time to start a container"),
        span("trainingRunTime", &Embedded::training_run_time, kMsPerSecond, 365 * kMsPerDay,
             "run time of a training job without expectedRunTime"),
        texts("hostPathRoots", &Embedded::host_path_roots,
              "workdirs of jobs must lie below one of these; []: none, [/]: any"),
    };
    return table;
}

template <>
const std::vector<Key<Journal>>& keys<Journal>() {
    static const std::vector<Key<Journal>> table = {
        text("directory", &Journal::directory,
             "\"\": $STATE_DIRECTORY, else $XDG_STATE_HOME/gpuctl, else ~/.local/state/gpuctl"),
        size("pastJournalBytesMax", &Journal::past_bytes_max, 0, 1024 * kGi,
             "older journal files stored for previews, up to this size; 0: removed"),
        moved<Journal>("segmentBytesMax", "has moved to expert.journal.segmentBytesMax"),
        moved<Journal>("snapshotEveryInputs", "has moved to expert.journal.snapshotEveryInputs"),
        moved<Journal>("queueMax", "has moved to expert.journal.queueMax"),
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
        section("cluster", &Config::cluster, "the backend and the cluster that it connects to"),
        policy_section(),
        section("journal", &Config::journal, "what survives a crash"),
        section("logging", &Config::logging, "gpuctld's own log; level may change on SIGHUP"),
        section("names", &Config::names, "names in the cluster"),
        expert_section(),
        moved<Config>("logs", "has moved to expert.logs"),
        moved<Config>("metrics", "has moved to expert.metrics"),
    };
    return table;
}

}  // namespace gpuctl::config
