// The keys of `expert` that do not affect scheduling: sizes, rates and times of the daemon.

#include "daemon/config/keys/expert_keys.hpp"

namespace gpuctl::config {
namespace {

constexpr std::int64_t kKibi = 1 << 10, kMebi = 1 << 20, kGibi = 1 << 30;

std::vector<Key<Config>> server_keys() {
    return lift_all(
        &Config::server,
        std::vector<Key<Server>>{
            count("connectionsMax", &Server::connections_max, 1, 1'000'000,
                  "open connections, more are refused; you need this when many clients keep "
                  "connections open"),
            size("bodyBytesMax", &Server::body_bytes_max, kKibi, kMebi,
                 "largest request body, more is answered with 413; you need this when clients that "
                 "you do not trust may send large bodies"),
            count("logStreamsMax", &Server::log_streams_max, 1, 1'000'000,
                  "log followers at once; you need this when more users follow"),
            count("sessionsMax", &Server::sessions_max, 1, 10'000,
                  "sessions with pods at once (exec, attach, cp, each connection of "
                  "port-forward), of up to 4 MiB of memory each; you need this when more users "
                  "work in pods"),
            count("sessionsPerCallerMax", &Server::sessions_per_caller_max, 1, 10'000,
                  "the same for one token; you need this when one user forwards many connections"),
            span("sessionIdle", &Server::session_idle, kMsPerSecond, 7 * kMsPerDay,
                 "a session without a byte in either direction is ended; you need this when "
                 "shells stay open unused"),
            span("sessionLongest", &Server::session_longest, kMsPerSecond, 365 * kMsPerDay,
                 "a session is ended after this time; you need this when connections are "
                 "forwarded for days"),
            span("requestTimeout", &Server::request_timeout, kMsPerSecond, kMsPerHour,
                 "a request is read and answered in this time; you need this when what-if "
                 "questions on a large cluster end early"),
        });
}

std::vector<Key<Config>> kubernetes_keys() {
    const std::vector<Key<Kubernetes>> table{
        count("bindsInFlightMax", &Kubernetes::binds_in_flight_max, 1, 1'024,
              "binds at once; you need this when the API server throttles gpuctld"),
        count("conditionsPerSecond", &Kubernetes::conditions_per_second, 1, 1'000,
              "conditions of waiting pods, five times as many while no pod is bound; you need this "
              "when reasons of waiting pods are late"),
        count("successEventsPerSecond", &Kubernetes::success_events_per_second, 0, 1'000,
              "events of bound pods, ten times as many while no pod is bound; you need this when "
              "Events fill etcd"),
        count("failureEventsPerSecond", &Kubernetes::failure_events_per_second, 0, 1'000,
              "events of waiting pods; you need this when Events fill etcd"),
    };
    return lift_all(&Config::cluster, lift_all(&Cluster::kubernetes, table));
}

std::vector<Key<Config>> journal_keys() {
    return lift_all(
        &Config::journal,
        std::vector<Key<Journal>>{
            size("segmentBytesMax", &Journal::segment_bytes_max, 64 * kKibi, 4 * kGibi,
                 "a journal file is closed at this size; you need this when the disk is small"),
            count("snapshotEveryInputs", &Journal::snapshot_every_inputs, 1, 1'000'000'000,
                  "inputs between two snapshots; you need this when a restart takes too long"),
            count("queueMax", &Journal::queue_max, 16, 10'000'000,
                  "inputs that wait for the engine, beyond them submits are answered with 429; you "
                  "need this when bursts of submits are refused"),
        });
}

std::vector<Key<Config>> logs_keys() {
    return lift_all(
        &Config::logs,
        std::vector<Key<Logs>>{
            count("ringLinesPerSubscriber", &Logs::ring_lines_per_subscriber, 1, 1'000'000,
                  "lines a reader may be behind before it loses the oldest; you need this when "
                  "readers on slow links lose lines"),
            count("historyLinesPerPod", &Logs::history_lines_per_pod, 0, 1'000'000,
                  "lines stored for readers that reconnect; you need this when memory is short"),
            size("lineBytesMax", &Logs::line_bytes_max, 256, 16 * kMebi,
                 "of a longer line the newest part is stored; you need this when jobs print longer "
                 "ones"),
            span("pingInterval", &Logs::ping_interval, kMsPerSecond, kMsPerHour,
                 "a reader that does not answer is dropped; you need this when a proxy drops idle "
                 "connections sooner"),
        });
}

std::vector<Key<Config>> metrics_keys() {
    return lift_all(
        &Config::metrics,
        std::vector<Key<Metrics>>{
            count("tenantLabelsMax", &Metrics::tenant_labels_max, 1, 10'000,
                  "namespaces with a label of their own, all further ones are \"other\"; you "
                  "need this when you bill by metrics"),
        });
}

}  // namespace

std::vector<Key<Config>> expert_daemon_sections() {
    return {
        group("server", server_keys(), "the REST API"),
        group("kubernetes", kubernetes_keys(), "with cluster.mode: kubernetes"),
        group("journal", journal_keys(), "what survives a crash"),
        group("logs", logs_keys(), "following the logs of jobs"),
        group("metrics", metrics_keys(), "/metrics"),
    };
}

}  // namespace gpuctl::config
