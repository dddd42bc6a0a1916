// The facts that the watch reports of a pod decide its bind state, and so what it holds.

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"

namespace gpuctl {

void Bindings::begin(PodId id) {
    const PodFacts& facts = state_.pods.rows()[id.value()].facts;
    BindState& state = state_.pods.rows().bind(id, {}).state;
    state = facts.ours ? BindState::waiting : BindState::foreign;
    if (Retention{state_}.is_old_news(facts)) state = BindState::done;
}

void Bindings::begin_seat(PodId id) { state_.pods.rows().bind(id, {}).state = BindState::seat; }

void Bindings::follow_facts(PodId id) {
    const PodRow& row = state_.pods.rows()[id.value()];
    BindRow& bind = state_.pods.rows().bind(id, {});
    if (is_terminal(row.facts.phase)) return follow_end(id);
    if (row.facts.terminating && has_fault(SeededFault::terminating_pods_free_room)) {
        bind.state = BindState::done;
        return state_.pods.release(id);
    }
    if (!row.facts.node.empty()) return follow_node(id);
    // The facts name no node: an assumed or known bind stays, because the watch may be behind.
    if (!row.facts.ours) {
        if (row.node.exists()) state_.pods.release(id);
        bind.state = BindState::foreign;
    } else if (bind.state == BindState::foreign || bind.state == BindState::done) {
        if (row.node.exists()) state_.pods.release(id);
        bind.state = BindState::waiting;
    }
}

void Bindings::follow_end(PodId id) {
    const PodRow& row = state_.pods.rows()[id.value()];
    BindRow& bind = state_.pods.rows().bind(id, {});
    const bool is_news = bind.state != BindState::done;
    if (is_news) state_.run_times.note_run(id);
    if (is_news && row.job.exists() && row.facts.phase == PodPhase::failed) {
        state_.run_times.note_stopped(row.job, id);
    }
    const Placement kept = state_.seats.kept_of(id);
    if (row.node.exists() && !has_fault(SeededFault::ended_pods_keep_room)) state_.pods.release(id);
    bind.state = BindState::done;
    bind.in_flight = bind.delete_in_flight = false;
    state_.evictions.withdraw_eviction(id);
    bind.effect = EffectId{};
    if (!kept.node.exists()) return;
    const PodFacts left = row.facts;  // a new row may move the others
    state_.pods.add_seat(left, kept, state_.pods.rows()[id.value()].job);
}

void Bindings::follow_node(PodId id) {
    const PodRow& row = state_.pods.rows()[id.value()];
    BindRow& bind = state_.pods.rows().bind(id, {});
    const NodeId node = state_.nodes.node_named(row.facts.node);
    const bool is_declared = row.facts.gpu_device != kNoDevice && row.gpu_device != kNoDevice;
    const bool is_elsewhere =
        row.node != node || (is_declared && row.facts.gpu_device != row.gpu_device);
    // The watch wins: a node that it shows replaces the assumed one. Nominated room is released
    // first, because it is charged as nominated.
    const bool is_nominated = bind.state == BindState::nominated;
    if (row.node.exists() && (is_elsewhere || is_nominated)) state_.pods.release(id);
    if (is_nominated) bind.state = BindState::waiting;
    if (!row.node.exists())
        state_.pods.hold(id, state_.nodes.node_named(row.facts.node), row.facts.gpu_device);
    bind.in_flight = false;
    bind.effect = EffectId{};
    bind.unsure_until = Instant{};
    set_bar(id, PodBar::none);
    if (row.job.exists() && bind.state != BindState::bound &&
        state_.evictions.may_be_preempted(row)) {
        state_.tree.note_victim(state_.jobs.rows()[row.job.value()].queue);
    }
    bind.state = row.facts.ours ? BindState::bound : BindState::foreign;
}

}  // namespace gpuctl
