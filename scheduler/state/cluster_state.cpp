// Entry of events, leadership, timers.

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/state/jobs/retention.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

// Its answer is not known, so that it may be carried out as late as its deadline.
void give_up_creation(JobRow& job) {
    job.workload.create_lands_until =
        std::max(job.workload.create_lands_until, job.workload.create_deadline);
    job.workload.create_deadline = Instant{};
}

}  // namespace

ClusterState::ClusterState() {
    nodes.capacity().reserve_pod_slots(session.policy().pods_reserved_per_node);
    (void)tree.pool_named(kDefaultPool);
}

// Which part handles an event first; it calls those that the event concerns too.
struct ClusterState::Router {
    ClusterState& state;
    EffectList& effects;

    void operator()(const NodeObserved& event) const { state.nodes.on(event, effects); }
    void operator()(const NodeRemoved& event) const { state.nodes.on(event, effects); }
    void operator()(const PodObserved& event) const { state.pods.on(event, effects); }
    void operator()(const PodRemoved& event) const { state.pods.on(event, effects); }
    void operator()(const GangObserved& event) const { state.gangs.on(event, effects); }
    void operator()(const GangRemoved& event) const { state.gangs.on(event, effects); }
    void operator()(const CacheSynced& event) const { state.on(event, effects); }
    void operator()(const JobSubmitted& event) const { state.workloads.on(event, effects); }
    void operator()(const JobDeleteRequested& event) const { state.workloads.on(event, effects); }
    void operator()(const PolicyChanged& event) const { state.tree.on(event, effects); }
    void operator()(const BindOutcome& event) const { state.bindings.on(event, effects); }
    void operator()(const PodDeleteOutcome& event) const { state.bindings.on(event, effects); }
    void operator()(const PodEvictOutcome& event) const { state.nominations.on(event, effects); }
    void operator()(const WorkloadOutcome& event) const { state.workloads.on(event, effects); }
    void operator()(const WorkloadObserved& event) const { state.workloads.on(event, effects); }
    void operator()(const WorkloadRemoved& event) const { state.workloads.on(event, effects); }
    void operator()(const JobAdopted& event) const { state.workloads.on(event, effects); }
    void operator()(const LeadershipChanged& event) const { state.on(event, effects); }
    void operator()(const WokeUp& event) const { state.on(event, effects); }
    void operator()(const WorkloadResizeOutcome& event) const { state.elastic.on(event, effects); }
    void operator()(const DeviceClassObserved& event) const { state.nodes.on(event, effects); }
    void operator()(const DeviceClassRemoved& event) const { state.nodes.on(event, effects); }
    void operator()(const MetricsObserved& event) const { state.signals.on(event); }
    void operator()(const Plan&) const {}
};

void ClusterState::apply(const Event& event, Instant now, EffectList& effects) {
    session.begin_input(now);
    accounts.finish_ticks();
    if (!accounts.budgets().empty() && accounts.budgets().turns_at() <= session.event_time())
        accounts.turn_budgets();
    if (maintenance.calendar().clock.turns_at.happened() &&
        maintenance.calendar().clock.turns_at <= session.event_time())
        maintenance.turn_calendar();
    session.ring_timers();
    std::visit(Router{*this, effects}, event);
    Retention{*this}.settle(effects);
    run_times.count_work();
    if (session.leading()) session.request_wake(effects, false);
}

void ClusterState::on(const CacheSynced&, EffectList&) {
    session.synced() = true;
    session.resend_due() = true;
}

void ClusterState::on(const LeadershipChanged& event, EffectList& effects) {
    const bool is_new_term =
        event.leading && (!session.leading() || event.epoch != session.epoch());
    session.leading() = event.leading;
    session.epoch() = event.epoch;
    if (!is_new_term) return;
    // What an earlier term sent may or may not have arrived. Binds stay assumed and are sent again
    // by the next Plan; workloads at once. Both are idempotent by uid.
    session.resend_due() = true;
    for (const auto& [key, id] : jobs.job_ids()) {
        JobRow& job = jobs.rows()[id.value()];
        if (planted(PlantedBug::forget_open_workloads)) break;
        give_up_creation(job);
        if (job.workload.in_flight) job.workload.due = true;
        job.workload.in_flight = false;
        if (job.workload.due) workloads.send_later(job);
        if (job.elastic.in_flight) jobs.mark_dirty(id);
        job.elastic.in_flight = false;
    }
    workloads.send_due_workloads(effects);
    if (!planted(PlantedBug::forget_wake_in_a_new_term)) session.request_wake(effects, true);
}

void ClusterState::on(const WokeUp&, EffectList& effects) {
    session.wake_requested() = Instant{};
    if (!session.leading()) return;
    workloads.send_due_workloads(effects);
}

}  // namespace gpuctl
