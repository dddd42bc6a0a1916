#pragma once
// Every metric that gpuctld exports. The recorder and /metrics derive from this table;
// tests/golden/metrics.txt is compared with it, docs/README.md names it as the reference, and
// CONTRIBUTING.md lists what else a new metric needs. Labels come from
// closed or configured sets only, never a job, pod, node or user. `compute_pool_usage` has a name
// given from outside, and its tenant labels are capped.

#include <array>
#include <cstdint>

#include "metrics/table.hpp"

namespace gpuctl::metrics {

// X(id, name, type, unit, labels separated by spaces, buckets, meaning)
#define GPUCTLD_METRICS(X)                                                                         \
    X(build_info, "gpuctld_build_info", gauge, "", "version", none,                                \
      "Always 1; the label is the running version.")                                               \
    X(start_time, "gpuctld_start_time_seconds", gauge, "seconds", "", none,                        \
      "Start time of the daemon, in seconds since 1970.")                                          \
    X(ready, "gpuctld_ready", gauge, "", "", none, "1 while /readyz answers ok.")                  \
    X(leading, "gpuctld_leading", gauge, "", "", none,                                             \
      "1 while this daemon is the leader and may place pods.")                                     \
    X(reloads, "gpuctld_config_reloads_total", counter, "", "result", none,                        \
      "Configuration reloads by result (ok, refused).")                                            \
    X(loop_lag, "gpuctld_loop_lag_seconds", histogram, "seconds", "", milliseconds,                \
      "Delay of a timer: how long other work kept the event loop busy.")                           \
    X(loop_turn, "gpuctld_loop_turn_duration_seconds", histogram, "seconds", "work", milliseconds, \
      "Duration of one turn of the event loop, by its work: inputs, plan, logs, watch, cluster, "  \
      "rescue, an API route, or other.")                                                           \
    X(replica, "gpuctld_replica", gauge, "", "", none,                                             \
      "1 while a second engine (the replica) answers long queries.")                               \
    X(replica_build, "gpuctld_replica_build_duration_seconds", histogram, "seconds", "source",     \
      requests, "Time to build the replica, by source (state, journal).")                          \
    X(replica_failures, "gpuctld_replica_failures_total", counter, "", "", none,                   \
      "Failures to build the replica.")                                                            \
    X(replica_behind, "gpuctld_replica_behind_total", counter, "", "", none,                       \
      "Times the replica was dropped because too many inputs waited for it.")                      \
    X(loop_exports, "gpuctld_loop_state_exports_total", counter, "", "", none,                     \
      "Exports of the whole state by the event loop: of a small state, or when the journal's "     \
      "files are damaged.")                                                                        \
    X(mailbox, "gpuctld_mailbox_inputs", gauge, "", "", none, "Events that wait for the engine.")  \
    X(mailbox_refused, "gpuctld_mailbox_refused_total", counter, "", "", none,                     \
      "Events refused because the mailbox was full.")                                              \
    X(inputs, "gpuctld_inputs_total", counter, "", "event", none,                                  \
      "Inputs applied by the engine, by kind of event.")                                           \
    X(effects, "gpuctld_effects_total", counter, "", "effect", none,                               \
      "Effects sent to the cluster adapter, by kind.")                                             \
    X(cycle_phase, "gpuctld_cycle_phase_duration_seconds", histogram, "seconds", "phase",          \
      microseconds,                                                                                \
      "Time that one turn of the event loop spent in a phase (journal, apply, plan).")             \
    X(batch, "gpuctld_batch_inputs", histogram, "", "", sizes,                                     \
      "Inputs taken from the mailbox per turn.")                                                   \
    X(plans, "gpuctld_plans_total", counter, "", "", none, "Planning passes.")                     \
    X(attempts, "gpuctld_plan_attempts_total", counter, "", "", none,                              \
      "Placement attempts for jobs by the planner.")                                               \
    X(placements, "gpuctld_placements_total", counter, "", "", none, "Ranks placed on a node.")    \
    X(negative_cache, "gpuctld_negative_cache_skips_total", counter, "", "", none,                 \
      "Jobs skipped by the planner because no relevant change happened since their last refusal.") \
    X(gang_rollbacks, "gpuctld_gang_rollbacks_total", counter, "", "", none,                       \
      "Gangs rolled back because some of their ranks could not be bound.")                         \
    X(evictions, "gpuctld_evictions_total", counter, "", "cause", none,                            \
      "Pods evicted for other jobs or for maintenance, by cause (reclaimed, preempted, stranded, " \
      "drained); refused evictions are not counted.")                                              \
    X(elastic_ranks, "gpuctld_elastic_ranks_total", counter, "", "change", none,                   \
      "Ranks of elastic jobs above the minimum: placed on idle GPUs (grown), released for other "  \
      "jobs (shrunk).")                                                                            \
    X(lost_work, "gpuctld_lost_gpu_seconds_total", counter, "seconds", "", none,                   \
      "GPU time of evicted pods that must be computed again.")                                     \
    X(refusals, "gpuctld_refusals_total", counter, "", "reason", none,                             \
      "Placement attempts refused, by reason.")                                                    \
    X(queue_wait, "gpuctld_queue_wait_duration_seconds", histogram, "seconds", "", waiting,        \
      "Time from submission to all pods bound, per job.")                                          \
    X(bind_latency, "gpuctld_bind_duration_seconds", histogram, "seconds", "result", milliseconds, \
      "Time from the decision to the cluster's answer, per pod, by result.")                       \
    X(binds_in_flight, "gpuctld_binds_in_flight", gauge, "", "", none,                             \
      "Bindings without an answer yet.")                                                           \
    X(submitted, "gpuctld_jobs_submitted_total", counter, "", "kind result", none,                 \
      "Jobs sent to this daemon by kind and result (accepted, refused).")                          \
    X(jobs, "gpuctld_jobs", gauge, "", "status", none, "Jobs by status.")                          \
    X(pending_jobs, "gpuctld_pending_jobs", gauge, "", "reason", none,                             \
      "Waiting jobs by the reason of their last refusal.")                                         \
    X(pool_gpus, "gpuctld_pool_gpus", gauge, "", "pool state", none,                               \
      "GPUs of a pool by state (total; used; free, including the rest of GPUs shared in parts; "   \
      "excess: requested by bound pods beyond the total).")                                        \
    X(pool_largest_free, "gpuctld_pool_largest_free_gpus", gauge, "", "pool", none,                \
      "Largest number of completely idle GPUs on one node of the pool: the most that a single "    \
      "pod can get.")                                                                              \
    X(pool_nodes, "gpuctld_pool_nodes", gauge, "", "pool", none, "Nodes of a pool.")               \
    X(pool_nodes_excess, "gpuctld_pool_overcommitted_nodes", gauge, "", "pool", none,              \
      "Nodes whose pods, including those of other schedulers, request more than the node offers.") \
    X(queue_gpus, "gpuctld_queue_gpus", gauge, "", "pool queue state", none,                       \
      "GPUs of a queue by state (held; nominated: while victims terminate; guaranteed; "           \
      "waiting).")                                                                                 \
    X(queue_budget, "gpuctld_queue_budget_gpu_seconds", gauge, "seconds", "pool queue state",      \
      none,                                                                                        \
      "GPU time of a queue's budget by state (limit, including carry-over; used; committed).")     \
    X(queue_jobs, "gpuctld_queue_jobs", gauge, "", "pool queue state", none,                       \
      "Jobs of a queue by state (waiting, running).")                                              \
    X(tenant_usage, "compute_pool_usage", gauge, "", "resource_type tenant_id", none,              \
      "Resources held by a namespace: gpu in GPUs, cpu in cores, memory in bytes.")                \
    X(http_requests, "gpuctld_http_requests_total", counter, "", "route method code", none,        \
      "HTTP requests answered.")                                                                   \
    X(http_duration, "gpuctld_http_request_duration_seconds", histogram, "seconds", "route",       \
      milliseconds, "Time to answer an HTTP request.")                                             \
    X(http_connections, "gpuctld_http_connections", gauge, "", "", none,                           \
      "Open client connections.")                                                                  \
    X(http_accepted, "gpuctld_http_connections_accepted_total", counter, "", "", none,             \
      "Client connections accepted.")                                                              \
    X(http_refused, "gpuctld_http_connections_refused_total", counter, "", "", none,               \
      "Client connections refused at the connection limit.")                                       \
    X(journal_records, "gpuctld_journal_records_total", counter, "", "", none,                     \
      "Inputs written to the journal.")                                                            \
    X(journal_bytes, "gpuctld_journal_written_bytes_total", counter, "bytes", "", none,            \
      "Bytes written to the journal.")                                                             \
    X(journal_sync, "gpuctld_journal_sync_duration_seconds", histogram, "seconds", "",             \
      milliseconds,                                                                                \
      "Time from the request for durability until the data is on disk, including group commit.")   \
    X(journal_snapshots, "gpuctld_journal_snapshots_total", counter, "", "result", none,           \
      "Snapshots of the engine, by result (ok; failed; rescued: written from memory because the "  \
      "files were damaged).")                                                                      \
    X(journal_failed, "gpuctld_journal_failed", gauge, "", "", none,                               \
      "1 after a write or sync failed: no work is accepted until a restart.")                      \
    X(log_upstreams, "gpuctld_log_upstreams", gauge, "", "", none, "Pod logs being read.")         \
    X(log_subscribers, "gpuctld_log_subscribers", gauge, "", "", none, "Readers of pod logs.")     \
    X(log_lines, "gpuctld_log_lines_total", counter, "", "", none, "Log lines read from pods.")    \
    X(log_dropped, "gpuctld_log_lines_dropped_total", counter, "", "", none,                       \
      "Log lines dropped because a reader was too slow; the reader gets their count.")             \
    X(log_reopens, "gpuctld_log_reopens_total", counter, "", "", none,                             \
      "Reopened pod logs after a lost connection.")                                                \
    X(log_refused, "gpuctld_log_subscribers_refused_total", counter, "", "", none,                 \
      "Log readers refused at the limit of readers.")                                              \
    X(sessions, "gpuctld_sessions", gauge, "", "kind", none,                                       \
      "Open sessions with pods by kind (exec, attach, portforward).")                              \
    X(sessions_opened, "gpuctld_sessions_opened_total", counter, "", "kind", none,                 \
      "Sessions with pods that were opened, by kind.")                                             \
    X(sessions_failed, "gpuctld_sessions_failed_total", counter, "", "kind reason", none,          \
      "Sessions with pods that were not opened (limit, refused, not_opened) or did not end by "    \
      "themselves (stopped, idle, too_long, stalled, client: it broke the protocol, node: no "     \
      "exit code came).")                                                                          \
    X(session_bytes, "gpuctld_session_bytes_total", counter, "bytes", "direction", none,           \
      "Bytes carried by sessions, by direction (to_pods, from_pods).")                             \
    X(api_requests, "rest_client_requests_total", counter, "", "code method host", none,           \
      "Requests to the API server; code 0: no answer.")                                            \
    X(api_duration, "rest_client_request_duration_seconds", histogram, "seconds", "verb",          \
      requests, "Time until the API server's answer.")                                             \
    X(api_retries, "rest_client_request_retries_total", counter, "", "", none,                     \
      "Retried requests to the API server.")                                                       \
    X(api_throttled, "gpuctld_api_throttled_total", counter, "", "", none,                         \
      "Answers 429 (throttled) of the API server.")                                                \
    X(api_unknown, "gpuctld_api_unknown_outcomes_total", counter, "", "", none,                    \
      "Writes without an answer, whose outcome was read back.")                                    \
    X(api_fenced, "gpuctld_api_fenced_writes_total", counter, "", "", none,                        \
      "Writes not sent because the lease could have expired.")                                     \
    X(lease_master, "leader_election_master_status", gauge, "", "name", none,                      \
      "1 while this daemon holds the lease.")                                                      \
    X(cache_objects, "gpuctld_cache_objects", gauge, "", "resource", none,                         \
      "Objects of the API server in memory (pods, nodes).")                                        \
    X(cache_lists, "gpuctld_cache_lists_total", counter, "", "resource", none,                     \
      "Full lists read from the API server.")                                                      \
    X(cache_watch_errors, "gpuctld_cache_watch_errors_total", counter, "", "resource", none,       \
      "Watches that failed.")                                                                      \
    X(cache_events, "gpuctld_cache_events_total", counter, "", "resource result", none,            \
      "Watch events by result (changed, unchanged).")                                              \
    X(user_events, "gpuctld_user_events_total", counter, "", "result", none,                       \
      "Kubernetes events for users by result (written, failed, dropped).")

enum class Metric : std::uint8_t {
#define GPUCTLD_AS_ENUMERATOR(id, name, type, unit, labels, buckets, meaning) id,
    GPUCTLD_METRICS(GPUCTLD_AS_ENUMERATOR)
#undef GPUCTLD_AS_ENUMERATOR
};

inline constexpr auto kMetrics = std::to_array<MetricRow>({
#define GPUCTLD_AS_ROW(id, name, type, unit, labels, bounds, meaning) \
    MetricRow{name, MetricType::type, unit, labels, buckets::bounds, meaning},
    GPUCTLD_METRICS(GPUCTLD_AS_ROW)
#undef GPUCTLD_AS_ROW
});

constexpr MetricTable table_of(Metric) { return kMetrics; }

}  // namespace gpuctl::metrics
