#pragma once
// Every metric gpuctld exports. A line here is all it takes: the recorder, /metrics, the golden
// list (tests/golden/metrics.txt) and the docs follow. Labels come from closed or configured sets
// only, never a job, pod, node or user (ruling 2); `compute_pool_usage` is the one name kept from
// outside and its tenants are capped.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuctl::metrics {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

// Bucket bounds of a histogram, see recorder.cpp.
enum class Buckets : std::uint8_t { none, microseconds, milliseconds, waiting, sizes, requests };

// X(id, name, type, unit, labels separated by spaces, buckets, meaning)
#define GPUCTLD_METRICS(X)                                                                         \
    X(build_info, "gpuctld_build_info", gauge, "", "version", none,                                \
      "Always 1; says which version runs.")                                                        \
    X(start_time, "gpuctld_start_time_seconds", gauge, "seconds", "", none,                        \
      "When the daemon started, seconds since 1970.")                                              \
    X(ready, "gpuctld_ready", gauge, "", "", none, "1 while /readyz says ok.")                     \
    X(leading, "gpuctld_leading", gauge, "", "", none, "1 while this daemon may place pods.")      \
    X(reloads, "gpuctld_config_reloads_total", counter, "", "result", none,                        \
      "Reloads of the configuration by result (ok, refused).")                                     \
    X(loop_lag, "gpuctld_loop_lag_seconds", histogram, "seconds", "", milliseconds,                \
      "How late a timer fires: the time other work kept the loop busy.")                           \
    X(loop_turn, "gpuctld_loop_turn_duration_seconds", histogram, "seconds", "work", milliseconds, \
      "Time one turn of the loop took, by what it did: inputs, plan, logs, watch, cluster, "       \
      "rescue, a route of the API, or other.")                                                     \
    X(replica, "gpuctld_replica", gauge, "", "", none,                                             \
      "1 while a second engine answers what takes long.")                                          \
    X(replica_build, "gpuctld_replica_build_duration_seconds", histogram, "seconds", "source",     \
      requests, "Time to make that engine, by what it was made of (state, journal).")              \
    X(replica_failures, "gpuctld_replica_failures_total", counter, "", "", none,                   \
      "Times it could not be made.")                                                               \
    X(replica_behind, "gpuctld_replica_behind_total", counter, "", "", none,                       \
      "Times it was given up because too many inputs waited for it.")                              \
    X(loop_exports, "gpuctld_loop_state_exports_total", counter, "", "", none,                     \
      "Times the loop itself wrote out the whole state: a small one, or to save it from damaged "  \
      "files.")                                                                                    \
    X(mailbox, "gpuctld_mailbox_inputs", gauge, "", "", none, "Events waiting for the engine.")    \
    X(mailbox_refused, "gpuctld_mailbox_refused_total", counter, "", "", none,                     \
      "Events turned away because the mailbox was full.")                                          \
    X(inputs, "gpuctld_inputs_total", counter, "", "event", none,                                  \
      "Inputs the engine took, by kind of event.")                                                 \
    X(effects, "gpuctld_effects_total", counter, "", "effect", none,                               \
      "Effects handed to the cluster adapter, by kind.")                                           \
    X(cycle_phase, "gpuctld_cycle_phase_duration_seconds", histogram, "seconds", "phase",          \
      microseconds, "Time one turn of the loop spent in a phase (journal, apply, plan).")          \
    X(batch, "gpuctld_batch_inputs", histogram, "", "", sizes, "Inputs drained per turn.")         \
    X(plans, "gpuctld_plans_total", counter, "", "", none, "Planning passes.")                     \
    X(attempts, "gpuctld_plan_attempts_total", counter, "", "", none,                              \
      "Jobs tried by the planner.")                                                                \
    X(placements, "gpuctld_placements_total", counter, "", "", none, "Ranks given a node.")        \
    X(negative_cache, "gpuctld_negative_cache_skips_total", counter, "", "", none,                 \
      "Jobs not tried because nothing that could help them had changed.")                          \
    X(gang_rollbacks, "gpuctld_gang_rollbacks_total", counter, "", "", none,                       \
      "Gangs rolled back after some of their ranks could not be bound.")                           \
    X(evictions, "gpuctld_evictions_total", counter, "", "cause", none,                            \
      "Pods that went to make room for others, by cause (reclaimed, preempted, stranded, "         \
      "drained); an eviction that was refused is none.")                                           \
    X(elastic_ranks, "gpuctld_elastic_ranks_total", counter, "", "change", none,                   \
      "Ranks of elastic jobs beyond the minimum: placed in idle room (grown), gone for others "    \
      "(shrunk).")                                                                                 \
    X(lost_work, "gpuctld_lost_gpu_seconds_total", counter, "seconds", "", none,                   \
      "GPU time of stopped pods that has to be computed again.")                                   \
    X(refusals, "gpuctld_refusals_total", counter, "", "reason", none,                             \
      "Placement attempts refused, by reason.")                                                    \
    X(queue_wait, "gpuctld_queue_wait_duration_seconds", histogram, "seconds", "", waiting,        \
      "From submission to all pods bound, per job.")                                               \
    X(bind_latency, "gpuctld_bind_duration_seconds", histogram, "seconds", "result", milliseconds, \
      "From the decision to the cluster's answer, per pod, by result.")                            \
    X(binds_in_flight, "gpuctld_binds_in_flight", gauge, "", "", none,                             \
      "Binds decided and not yet answered.")                                                       \
    X(submitted, "gpuctld_jobs_submitted_total", counter, "", "kind result", none,                 \
      "Jobs sent to this daemon by kind and result (accepted, refused).")                          \
    X(jobs, "gpuctld_jobs", gauge, "", "status", none, "Jobs known, by status.")                   \
    X(pending_jobs, "gpuctld_pending_jobs", gauge, "", "reason", none,                             \
      "Waiting jobs by what they were last refused for.")                                          \
    X(pool_gpus, "gpuctld_pool_gpus", gauge, "", "pool state", none,                               \
      "GPUs of a pool by state (total, used, free with what is left of GPUs in parts, excess: "    \
      "asked for beyond what there is).")                                                          \
    X(pool_largest_free, "gpuctld_pool_largest_free_gpus", gauge, "", "pool", none,                \
      "Most wholly free GPUs on one node of the pool: what a single pod can get.")                 \
    X(pool_nodes, "gpuctld_pool_nodes", gauge, "", "pool", none, "Nodes of a pool.")               \
    X(pool_nodes_excess, "gpuctld_pool_overcommitted_nodes", gauge, "", "pool", none,              \
      "Nodes whose pods, other schedulers' included, ask for more than the node offers.")          \
    X(queue_gpus, "gpuctld_queue_gpus", gauge, "", "pool queue state", none,                       \
      "GPUs of a queue by state (held, claimed while others stop, guaranteed, waiting).")          \
    X(queue_budget, "gpuctld_queue_budget_gpu_seconds", gauge, "seconds", "pool queue state",      \
      none,                                                                                        \
      "GPU time of a queue's budget by state (limit with what was carried over, used, "            \
      "committed).")                                                                               \
    X(queue_jobs, "gpuctld_queue_jobs", gauge, "", "pool queue state", none,                       \
      "Jobs of a queue by state (waiting, running).")                                              \
    X(tenant_usage, "compute_pool_usage", gauge, "", "resource_type tenant_id", none,              \
      "What a namespace holds: gpu in GPUs, cpu in cores, memory in bytes.")                       \
    X(http_requests, "gpuctld_http_requests_total", counter, "", "route method code", none,        \
      "HTTP requests answered.")                                                                   \
    X(http_duration, "gpuctld_http_request_duration_seconds", histogram, "seconds", "route",       \
      milliseconds, "Time to answer an HTTP request.")                                             \
    X(http_connections, "gpuctld_http_connections", gauge, "", "", none,                           \
      "Open client connections.")                                                                  \
    X(http_accepted, "gpuctld_http_connections_accepted_total", counter, "", "", none,             \
      "Client connections accepted.")                                                              \
    X(http_refused, "gpuctld_http_connections_refused_total", counter, "", "", none,               \
      "Client connections refused because there were too many.")                                   \
    X(journal_records, "gpuctld_journal_records_total", counter, "", "", none,                     \
      "Inputs written to the journal.")                                                            \
    X(journal_bytes, "gpuctld_journal_written_bytes_total", counter, "bytes", "", none,            \
      "Bytes written to the journal.")                                                             \
    X(journal_sync, "gpuctld_journal_sync_duration_seconds", histogram, "seconds", "",             \
      milliseconds, "From asking for durability to having it, group commits included.")            \
    X(journal_snapshots, "gpuctld_journal_snapshots_total", counter, "", "result", none,           \
      "Snapshots of the engine written beside the journal, by result (ok, failed, rescued: of "    \
      "what is in memory, as the files were damaged).")                                            \
    X(journal_failed, "gpuctld_journal_failed", gauge, "", "", none,                               \
      "1 after a write or sync failed: no work is taken until a restart.")                         \
    X(log_upstreams, "gpuctld_log_upstreams", gauge, "", "", none, "Pod logs being read.")         \
    X(log_subscribers, "gpuctld_log_subscribers", gauge, "", "", none, "Readers of pod logs.")     \
    X(log_lines, "gpuctld_log_lines_total", counter, "", "", none, "Log lines read from pods.")    \
    X(log_dropped, "gpuctld_log_lines_dropped_total", counter, "", "", none,                       \
      "Log lines a slow reader missed; the reader was told.")                                      \
    X(log_reopens, "gpuctld_log_reopens_total", counter, "", "", none,                             \
      "Times a pod's log was opened again after it broke off.")                                    \
    X(log_refused, "gpuctld_log_subscribers_refused_total", counter, "", "", none,                 \
      "Readers turned away because there were too many.")                                          \
    X(api_requests, "rest_client_requests_total", counter, "", "code method host", none,           \
      "Requests to the API server; code 0 means no answer came.")                                  \
    X(api_duration, "rest_client_request_duration_seconds", histogram, "seconds", "verb",          \
      requests, "Time the API server took to answer.")                                             \
    X(api_retries, "rest_client_request_retries_total", counter, "", "", none,                     \
      "Requests to the API server sent again.")                                                    \
    X(api_throttled, "gpuctld_api_throttled_total", counter, "", "", none,                         \
      "Times the API server answered 429.")                                                        \
    X(api_unknown, "gpuctld_api_unknown_outcomes_total", counter, "", "", none,                    \
      "Writes of which no answer came: read back instead of guessed.")                             \
    X(api_fenced, "gpuctld_api_fenced_writes_total", counter, "", "", none,                        \
      "Writes held back because the lease was no longer safely ours.")                             \
    X(lease_master, "leader_election_master_status", gauge, "", "name", none,                      \
      "1 while this daemon holds the lease.")                                                      \
    X(cache_objects, "gpuctld_cache_objects", gauge, "", "resource", none,                         \
      "Objects of the API server held in memory (pods, nodes).")                                   \
    X(cache_lists, "gpuctld_cache_lists_total", counter, "", "resource", none,                     \
      "Full lists read from the API server.")                                                      \
    X(cache_watch_errors, "gpuctld_cache_watch_errors_total", counter, "", "resource", none,       \
      "Watches that broke off.")                                                                   \
    X(cache_events, "gpuctld_cache_events_total", counter, "", "resource result", none,            \
      "Watch events by result (told, unchanged).")                                                 \
    X(user_events, "gpuctld_user_events_total", counter, "", "result", none,                       \
      "Kubernetes events for users by result (written, failed, dropped).")

enum class Metric : std::uint8_t {
#define GPUCTLD_AS_ENUMERATOR(id, name, type, unit, labels, buckets, meaning) id,
    GPUCTLD_METRICS(GPUCTLD_AS_ENUMERATOR)
#undef GPUCTLD_AS_ENUMERATOR
};

struct MetricRow {
    Metric metric;
    std::string_view name;
    MetricType type;
    std::string_view unit;
    std::string_view labels;
    Buckets buckets;
    std::string_view meaning;
};

inline constexpr auto kMetrics = std::to_array<MetricRow>({
#define GPUCTLD_AS_ROW(id, name, type, unit, labels, buckets, meaning) \
    MetricRow{Metric::id, name, MetricType::type, unit, labels, Buckets::buckets, meaning},
    GPUCTLD_METRICS(GPUCTLD_AS_ROW)
#undef GPUCTLD_AS_ROW
});

constexpr const MetricRow& row_of(Metric metric) {
    return kMetrics[static_cast<std::size_t>(metric)];
}

}  // namespace gpuctl::metrics
