// Routes events to the parts; leadership and timers.

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/jobs/retention.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

#include <algorithm>

namespace gpuctl {

ClusterState::ClusterState() {
    nodes.reserve_pod_slots(session.policy().pods_reserved_per_node);
    (void)tree.pool_named(kDefaultPool);
}

// The part that handles an event first. It calls the other parts that the event concerns.
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
    void operator()(const PodEvictOutcome& event) const { state.evictions.on(event, effects); }
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
    void operator()(const JobUpdated& event) const { state.workloads.on(event, effects); }
    void operator()(const PolicyObjectsChanged& event) const { state.policy_objects.on(event); }
    void operator()(const NodeChangeRequested& event) const {
        state.node_changes.on(event, effects);
    }
    void operator()(const NodeChangeOutcome& event) const { state.node_changes.on(event, effects); }
    void operator()(const Plan&) const {}
};

void ClusterState::apply(const Event& event, Instant now, EffectList& effects) {
    session.begin_input(now);
    accounts.finish_ticks();
    if (!accounts.budgets().empty() && accounts.budgets().turns_at() <= session.event_time())
        accounts.turn_budgets();
    if (maintenance.calendar().clock.turns(session.event_time())) maintenance.turn_calendar();
    session.ring_timers();
    std::visit(Router{*this, effects}, event);
    Retention{*this}.settle(effects);
    run_times.count_work();
    if (session.leading()) session.request_wake(effects, false);
}

void ClusterState::on(const CacheSynced&, EffectList&) { session.note_synced(); }

void ClusterState::on(const LeadershipChanged& event, EffectList& effects) {
    if (!session.note_leadership(event.leading, event.epoch)) return;
    // Effects of an earlier term may or may not have been carried out. Binds stay assumed and are
    // sent again by the next Plan; workloads are sent again at once. Both are idempotent by uid.
    for (const auto& [key, id] : jobs.job_ids()) {
        if (has_fault(SeededFault::forget_open_workloads)) break;
        workloads.forget_answer(id);
        elastic.forget_answer(id);
    }
    node_changes.send_again(effects);
    workloads.send_due_workloads(effects);
    if (!has_fault(SeededFault::forget_wake_in_a_new_term)) session.request_wake(effects, true);
}

void ClusterState::on(const WokeUp&, EffectList& effects) {
    session.note_woken();
    if (!session.leading()) return;
    workloads.send_due_workloads(effects);
}

}  // namespace gpuctl
