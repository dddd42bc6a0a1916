#include "daemon/app/figures.hpp"

#include <map>

#include "scheduler/engine/views.hpp"

namespace gpuctl::app {
namespace {

using metrics::Metric;
using metrics::Recorder;

double gpus(GpuMilli amount) { return static_cast<double>(amount.value()) / kGpuMilliPerGpu; }

void fill_engine_figures(Recorder& recorder, const EngineFigures& figures) {
    recorder.counter(Metric::plans).raise_to(figures.plans);
    recorder.counter(Metric::attempts).raise_to(figures.attempts);
    recorder.counter(Metric::placements).raise_to(figures.placements);
    recorder.counter(Metric::negative_cache).raise_to(figures.skipped_by_negative_cache);
    recorder.counter(Metric::gang_rollbacks).raise_to(figures.gang_rollbacks);
    recorder.counter(Metric::evictions, {"reclaimed"}).raise_to(figures.pods_reclaimed);
    recorder.counter(Metric::evictions, {"preempted"}).raise_to(figures.pods_preempted);
    recorder.counter(Metric::evictions, {"drained"}).raise_to(figures.pods_drained);
    recorder.counter(Metric::evictions, {"stranded"}).raise_to(figures.pods_stranded);
    recorder.counter(Metric::elastic_ranks, {"grown"}).raise_to(figures.ranks_grown);
    recorder.counter(Metric::elastic_ranks, {"shrunk"}).raise_to(figures.ranks_shrunk);
    recorder.counter(Metric::lost_work).raise_to(figures.lost_gpu_seconds);
    for (std::size_t i = 0; i < figures.refusals.size() && i < kReasons.size(); ++i) {
        if (figures.refusals[i] == 0) continue;
        recorder.counter(Metric::refusals, {std::string{kReasons[i].label}})
            .raise_to(figures.refusals[i]);
    }
}

void fill_jobs(Recorder& recorder, const Listing& listing) {
    recorder.reset(Metric::jobs);
    recorder.reset(Metric::pending_jobs);
    const JobSums::ByStatus& by_status = listing.jobs().by_status();
    for (std::size_t i = 0; i < by_status.size(); ++i) {
        if (by_status[i] == 0) continue;
        recorder.gauge(Metric::jobs, {std::string{to_string(static_cast<JobStatus>(i))}})
            .set(static_cast<double>(by_status[i]));
    }
    const JobSums::ByReason waiting = listing.waiting_by_reason();
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i] == 0) continue;
        recorder.gauge(Metric::pending_jobs, {std::string{kReasons[i].label}})
            .set(static_cast<double>(waiting[i]));
    }
}

void fill_queue(Recorder& recorder, const QueueView& queue) {
    const auto gpus_in = [&](const char* state, GpuMilli amount) {
        recorder.gauge(Metric::queue_gpus, {queue.pool, queue.name, state}).set(gpus(amount));
    };
    gpus_in("held", queue.held);
    gpus_in("nominated", queue.nominated);
    gpus_in("guaranteed", queue.guaranteed);
    gpus_in("waiting", queue.gpus_waiting);
    recorder.gauge(Metric::queue_jobs, {queue.pool, queue.name, "waiting"})
        .set(static_cast<double>(queue.jobs_waiting));
    recorder.gauge(Metric::queue_jobs, {queue.pool, queue.name, "running"})
        .set(static_cast<double>(queue.jobs_running));
}

void fill_budget(Recorder& recorder, const QueueView& queue) {
    const auto set = [&](const char* state, GpuTime time) {
        constexpr double per_second = kGpuTimePerGpuHour / 3600.0;
        recorder.gauge(Metric::queue_budget, {queue.pool, queue.name, state})
            .set(static_cast<double>(time.value()) / per_second);
    };
    set("limit", queue.budget->policy.amount + queue.budget->carried);
    set("used", queue.budget->used);
    set("committed", queue.budget->committed);
}

void fill_pools(Recorder& recorder, Listing& listing) {
    for (const Metric metric : {Metric::pool_gpus, Metric::pool_largest_free, Metric::pool_nodes,
                                Metric::pool_nodes_excess, Metric::queue_gpus, Metric::queue_budget,
                                Metric::queue_jobs}) {
        recorder.reset(metric);
    }
    const ClusterState& state = listing.state();
    const PoolSums& sums = listing.pools();
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        if (!state.tree.pool_exists(id)) continue;
        const PoolSum& pool = sums.of(id);
        recorder.gauge(Metric::pool_gpus, {name, "total"}).set(gpus(pool.total));
        recorder.gauge(Metric::pool_gpus, {name, "used"}).set(gpus(pool.used));
        recorder.gauge(Metric::pool_gpus, {name, "free"}).set(gpus(pool.free));
        recorder.gauge(Metric::pool_gpus, {name, "excess"}).set(gpus(pool.excess));
        recorder.gauge(Metric::pool_nodes_excess, {name})
            .set(static_cast<double>(pool.nodes_excess));
        recorder.gauge(Metric::pool_largest_free, {name}).set(gpus(pool.largest_free()));
        recorder.gauge(Metric::pool_nodes, {name}).set(static_cast<double>(pool.nodes));
    }
    for (const QueueView& queue : list_queues(listing)) {
        // Queues with sub-queues would count twice, and a user-chosen name is no label.
        if (!queue.holds_queues && queue.is_declared) fill_queue(recorder, queue);
        if (queue.budget) fill_budget(recorder, queue);
    }
}

void fill_tenants(Recorder& recorder, const Listing& listing, std::size_t tenants_max) {
    const std::vector<Load>& on_nodes = listing.jobs().on_nodes();
    std::map<std::string, Load> by_tenant;
    for (std::uint32_t i = 0; i < on_nodes.size(); ++i) {
        if (on_nodes[i] == Load{}) continue;
        by_tenant[listing.names().names.name(NameId{i})] = on_nodes[i];
    }
    recorder.reset(Metric::tenant_usage);
    std::size_t named = 0;
    for (const auto& [tenant, held] : by_tenant) {
        const std::string label = named++ < tenants_max ? tenant : "other";
        recorder.gauge(Metric::tenant_usage, {"gpu", label}).add(gpus(held.gpus));
        recorder.gauge(Metric::tenant_usage, {"cpu", label})
            .add(static_cast<double>(held.cpu.value()) / 1000);
        recorder.gauge(Metric::tenant_usage, {"memory", label})
            .add(static_cast<double>(held.memory.value()));
    }
}

}  // namespace

void fill_state_gauges(Recorder& recorder, core::EngineLoop& engine, std::size_t tenants_max) {
    Listing& listing = engine.listing();
    fill_engine_figures(recorder, engine.engine().figures());
    recorder.gauge(Metric::mailbox).set(static_cast<double>(engine.mailbox_size()));
    recorder.gauge(Metric::leading).set(engine.leading() ? 1 : 0);
    fill_jobs(recorder, listing);
    fill_pools(recorder, listing);
    fill_tenants(recorder, listing, tenants_max);
}

void fill_session_figures(Recorder& recorder, const api::SessionTable::Figures& figures) {
    for (std::size_t kind = 0; kind < api::kSessionKindNames.size(); ++kind) {
        const std::string name{api::kSessionKindNames[kind]};
        recorder.gauge(Metric::sessions, {name}).set(static_cast<double>(figures.open[kind]));
        recorder.counter(Metric::sessions_opened, {name}).raise_to(figures.opened[kind]);
        for (std::size_t why = 0; why < figures.failed.size(); ++why) {
            if (figures.failed[why][kind] == 0) continue;
            recorder
                .counter(Metric::sessions_failed,
                         {name, std::string{api::kSessionFailureNames[why]}})
                .raise_to(figures.failed[why][kind]);
        }
    }
    recorder.counter(Metric::session_bytes, {"to_pods"}).raise_to(figures.traffic.to_pods);
    recorder.counter(Metric::session_bytes, {"from_pods"}).raise_to(figures.traffic.from_pods);
}

void fill_journal_figures(Recorder& recorder, const journal::Journal::Figures& figures) {
    recorder.counter(Metric::journal_records).raise_to(figures.records);
    recorder.counter(Metric::journal_bytes).raise_to(figures.bytes);
}

}  // namespace gpuctl::app
