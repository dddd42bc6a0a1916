// Pods as the watch reports them. One function derives what they hold from their facts.

#include <algorithm>
#include <tuple>
#include <utility>
#include "scheduler/model/policy/preemption_cost.hpp"

#include "scheduler/base/check.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/jobs/retention.hpp"
#include "scheduler/state/nodes/pins.hpp"
#include "scheduler/state/run_times/present_run.hpp"

namespace gpuctl {
namespace {

bool changes_what_it_is(const PodFacts& before, const PodFacts& after) {
    return before.ours != after.ours || before.job != after.job || before.key != after.key ||
           before.rank != after.rank || before.preemptible != after.preemptible ||
           before.preemptible_is_default != after.preemptible_is_default ||
           before.request != after.request || before.rules != after.rules ||
           before.pin != after.pin || before.gang_named != after.gang_named ||
           (after.pin.exists() && before.pool != after.pool) ||
           // A pod that names several nodes: its node decides its pool.
           (before.node != after.node && pins_of(after).size() > 1);
}

bool changes_what_may_happen(const PodFacts& before, const PodFacts& after) {
    const bool ends = is_terminal(before.phase) || is_terminal(after.phase);
    return before.node != after.node || (ends && before.phase != after.phase) ||
           before.gated != after.gated || before.terminating != after.terminating ||
           before.has_controller != after.has_controller || before.gang != after.gang ||
           before.gang_min != after.gang_min || before.gang_min_problem != after.gang_min_problem ||
           before.made_in_turn != after.made_in_turn ||
           before.queue_suggested != after.queue_suggested || before.role != after.role ||
           before.gang_roles != after.gang_roles || before.queue != after.queue ||
           before.pool != after.pool || before.priority != after.priority ||
           before.unsupported != after.unsupported || before.run_time_max != after.run_time_max ||
           before.run_time_expected != after.run_time_expected ||
           before.gpu_device != after.gpu_device;
}

}  // namespace

void Pods::on(const PodObserved& event, EffectList&) {
    PodId id = find_pod(event.pod.uid);
    if (id.exists() && pods_[id.value()].facts == event.pod) return;  // most updates end here
    if (!id.exists() && Retention{state_}.is_known_end(event.pod)) return;
    PodFacts facts = event.pod;
    if (facts.ours && facts.job.empty()) facts.job = std::string{kLonePodPrefix} + facts.key.name;
    if (!id.exists()) {
        // Same name, new uid: the earlier pod is gone, even if that was not reported yet.
        if (const PodId old = find_pod(facts.key); old.exists()) drop_pod(old);
        Retention{state_}.forget_namesake(facts);
        id = make_pod(std::move(facts));
        state_.evictions.take_vacancy(id);
        state_.bindings.follow_facts(id);
        if (pods_[id.value()].facts.terminating) note_termination(id);
        return;
    }
    const PodRow& row = pods_[id.value()];
    PodBase& own = pods_.base(id, {});
    if (!has_fault(SeededFault::list_pods_as_they_were)) state_.jobs.note_change(row.job);
    state_.jobs.note_change(row.node);
    const bool begins_to_terminate = facts.terminating && !row.facts.terminating;
    if (begins_to_terminate) note_going(id);
    if (begins_to_terminate) set_leaves_at(id, state_.session.event_time() + facts.stop_grace);
    if (!facts.terminating) set_leaves_at(id, Instant{});
    if (changes_what_it_is(row.facts, facts)) {
        const std::string held_on =
            row.node.exists() ? state_.nodes.rows()[row.node.value()].facts.name : "";
        release(id);
        leave_job(id);
        state_.nodes.note_pod(row.facts, id, false);
        const ShapeId old_shape = row.shape;
        own.shape = shapes_.acquire(facts.request, facts.ours ? facts.rules : PlacementRules{},
                                    state_.nodes.capacity(Key<Pods>{}));
        shapes_.release(old_shape, state_.nodes.capacity(Key<Pods>{}));
        pod_keys_.erase(row.facts.key);
        own.facts = std::move(facts);
        pod_keys_[row.facts.key] = id;
        state_.nodes.note_pod(row.facts, id, true);
        join_job(id);
        if (!held_on.empty()) hold(id, state_.nodes.node_named(held_on), row.facts.gpu_device);
    } else if (changes_what_may_happen(row.facts, facts)) {
        if (row.job.exists()) {
            const std::int64_t was_open = is_terminal(row.facts.phase) ? 0 : 1;
            state_.run_times.note_open_pods(row.job, (is_terminal(facts.phase) ? 0 : 1) - was_open);
        }
        own.facts = std::move(facts);
        state_.evictions.renew_stoppable(id);
        if (row.job.exists()) join_job(id);
    } else {
        const bool has_restarted = row.facts.started_at != facts.started_at;
        own.facts = std::move(facts);  // only what users read, and its run time
        state_.evictions.renew_stoppable(id);
        if (has_restarted) state_.tree.note_longer(row);
        return state_.run_times.note_end(id);
    }
    if (row.bind.bar == PodBar::refused) state_.bindings.set_bar(id, PodBar::none);
    state_.bindings.follow_facts(id);
    state_.run_times.note_end(id);
    if (begins_to_terminate) note_termination(id);
    if (!begins_to_terminate || !row.job.exists() || row.facts.phase != PodPhase::running) return;
    state_.run_times.note_stopped(row.job, id);
}

void Pods::on(const PodRemoved& event, EffectList&) {
    const PodId id = find_pod(event.uid);
    if (id.exists()) return drop_pod(id);
    if (state_.jobs.finished_jobs().has_ended_pods())
        Retention{state_}.remove_pod(compact_uid(event.uid));
}

PodId Pods::make_pod(PodFacts facts) {
    const PodId id = pods_.add({});
    PodBase& row = pods_.base(id, {});
    row.facts = std::move(facts);
    row.seen_at = state_.session.event_time();
    if (row.facts.terminating)
        set_leaves_at(id, state_.session.event_time() + row.facts.stop_grace);
    state_.bindings.begin(id);
    // Another scheduler decides where a foreign pod may go.
    row.shape =
        shapes_.acquire(row.facts.request, row.facts.ours ? row.facts.rules : PlacementRules{},
                        state_.nodes.capacity(Key<Pods>{}));
    pod_ids_.emplace(row.facts.uid, id);
    pod_keys_[row.facts.key] = id;
    state_.nodes.note_pod(row.facts, id, true);
    join_job(id);
    return id;
}

void Pods::drop_pod(PodId id) {
    const PodRow& row = pods_[id.value()];
    note_going(id);
    if (row.job.exists()) {
        if (is_running(row.facts)) state_.run_times.note_stopped(row.job, id);
        state_.run_times.note_gone(row.job, row.facts);
        state_.gangs.note_gone(row.job, row.facts);
    }
    const Placement kept = state_.seats.kept_of(id);
    PodFacts left;
    if (kept.node.exists()) left = row.facts;
    const JobId job = row.job;
    release(id);
    if (kept.node.exists()) add_seat(left, kept, job);
    leave_job(id);
    erase_pod(id);
}

void Pods::erase_pod(PodId id) {
    const PodRow& row = pods_[id.value()];
    state_.nodes.note_pod(row.facts, id, false);
    shapes_.release(row.shape, state_.nodes.capacity(Key<Pods>{}));
    pod_ids_.erase(row.facts.uid);
    if (const auto named = pod_keys_.find(row.facts.key);
        named != pod_keys_.end() && named->second == id) {
        pod_keys_.erase(named);
    }
    set_leaves_at(id, Instant{});
    pods_.remove(id, {});
}

void Pods::forget_pods_of(JobId job) {
    const std::vector<PodId> pods = std::exchange(state_.jobs.rows().pods(job, {}), {});
    for (const PodId id : pods) {
        release(id);
        pods_.base(id, {}).job = JobId::none();
        erase_pod(id);
    }
}

void Pods::set_leaves_at(PodId id, Instant at) {
    Instant& own = pods_.base(id, {}).leaves_at;
    if (own == at) return;
    if (own.happened()) late_next_.erase({own + kLateToLeave, id});
    own = at;
    if (own.happened()) late_next_.emplace(own + kLateToLeave, id);
}

// Adds the pod to its job, and updates queue, pool and priority of the job: the pod that was seen
// last decides them.
void Pods::join_job(PodId id) {
    const PodRow& row = pods_[id.value()];
    if (!row.facts.ours) return;
    if (!row.job.exists()) {
        const JobId job =
            state_.jobs.job_named(job_key_of(state_, row.facts), row.facts.created_at);
        pods_.base(id, {}).job = job;
        // By rank and name: the order of placement, independent of the order in which they were
        // seen.
        const auto comes_before = [this](PodId a, PodId b) {
            const PodFacts& x = pods_[a.value()].facts;
            const PodFacts& y = pods_[b.value()].facts;
            return std::tie(x.rank, x.key.name, x.uid) < std::tie(y.rank, y.key.name, y.uid);
        };
        std::vector<PodId>& pods = state_.jobs.rows().pods(job, {});
        pods.insert(std::lower_bound(pods.begin(), pods.end(), id, comes_before), id);
        if (!is_terminal(row.facts.phase)) state_.run_times.note_open_pods(job, 1);
    }
    state_.gangs.note_there(row.job, row.facts);
    state_.elastic.mark_surplus(id);
    if (!has_fault(SeededFault::forget_new_pods)) state_.jobs.mark_dirty(row.job);
    if (is_terminal(row.facts.phase)) {
        state_.run_times.note_last_phase(row.job, row.facts.phase);
        return;
    }
    state_.jobs.set_route(row.job, pool_wanted_by(state_, row.facts), row.facts.queue);
    state_.run_times.set_times(row.job, row.facts.run_time_max, row.facts.run_time_expected);
    const JobRow& job = state_.jobs.rows()[row.job.value()];
    state_.jobs.move_to(row.job, job.pool, job.queue, row.facts.priority);
    state_.jobs.resolve(row.job);
}

void Pods::leave_job(PodId id) {
    const PodRow& row = pods_[id.value()];
    if (!row.job.exists()) return;
    const JobId job = row.job;
    std::erase(state_.jobs.rows().pods(job, {}), id);
    if (!is_terminal(row.facts.phase)) state_.run_times.note_open_pods(job, -1);
    pods_.base(id, {}).job = JobId::none();
    // another pod may name a queue
    if (!row.facts.queue_suggested.empty()) state_.jobs.resolve(job);
    if (row.bind.bar == PodBar::refused) state_.bindings.find_end_of_refusal(job);
    state_.jobs.mark_dirty(job);
    state_.jobs.drop_job_if_unused(job);
}

void Pods::hold(PodId id, NodeId node, std::int32_t device) {
    const PodRow& row = pods_[id.value()];
    GPUCTL_CHECK(!row.node.exists(), "a pod holds on one node at a time");
    PodBase& own = pods_.base(id, {});
    own.node = node;
    const NodeRow& held = state_.nodes.rows()[node.value()];
    state_.nodes.rows().pods(node, {}).push_back(id);
    state_.jobs.note_change(row.job);
    state_.jobs.note_change(node);
    const Shape& shape = shapes_.at(row.shape);
    const bool is_part = shape.part > GpuMilli{};
    if (!is_part) device = kNoDevice;
    if (is_part && device < 0)
        device = state_.nodes.capacity().tightest_device(node.value(), shape.needs);
    own.gpu_device = device;
    state_.nodes.capacity(Key<Pods>{}).occupy(node.value(), shape.needs, 1, device);
    state_.tree.note_change(held.pool);
    if (row.job.exists() && state_.jobs.rows()[row.job.value()].record) {
        const JobSpec& spec = state_.jobs.rows()[row.job.value()].record->spec;
        own.grows_with_demand = gpuctl::grows_with_demand(spec, row.facts.rank);
    }
    state_.accounts.charge(id, 1);
    state_.run_times.note_end(id);
    if (row.is_terminating()) maybe_terminating_.insert(id);
    if (held.windows != 0) state_.maintenance.note_stop(node, row);
}

void Pods::release(PodId id) {
    const PodRow& row = pods_[id.value()];
    if (!row.node.exists()) return;
    const NodeId node = row.node;
    state_.jobs.note_change(row.job);
    state_.jobs.note_change(node);
    std::vector<PodId>& there = state_.nodes.rows().pods(node, {});
    const auto position = std::find(there.begin(), there.end(), id);
    GPUCTL_CHECK(position != there.end(), "a node knows the pods it holds");
    *position = there.back();
    there.pop_back();
    if (!has_fault(SeededFault::keep_room_on_release)) {
        state_.nodes.capacity(Key<Pods>{})
            .give_back(node.value(), shapes_.at(row.shape).needs, 1, row.gpu_device);
    }
    if (has_fault(SeededFault::give_room_back_twice)) {
        state_.nodes.capacity(Key<Pods>{})
            .give_back(node.value(), shapes_.at(row.shape).needs, 1, row.gpu_device);
    }
    state_.accounts.charge(id, -1);
    maybe_terminating_.erase(id);
    PodBase& own = pods_.base(id, {});
    own.node = NodeId::none();
    own.gpu_device = kNoDevice;
    own.grows_with_demand = false;
    state_.run_times.note_end(id);
    if (!has_fault(SeededFault::forget_gain_on_release))
        state_.tree.note_gain(state_.nodes.rows()[node.value()].pool);
    state_.nominations.revisit_nominations();
    state_.nodes.forget_node_if_unused(node);
}

PodId Pods::find_pod(std::string_view uid) const {
    const auto found = pod_ids_.find(uid);
    return found == pod_ids_.end() ? PodId::none() : found->second;
}

PodId Pods::find_pod(const ObjectKey& key) const {
    const auto found = pod_keys_.find(key);
    return found == pod_keys_.end() ? PodId::none() : found->second;
}

void Pods::rejoin(std::vector<std::string> uids) {
    std::sort(uids.begin(), uids.end());  // ids change after a restart
    for (const std::string& uid : uids) {
        const PodId id = find_pod(uid);
        if (!id.exists() || !pods_[id.value()].job.exists()) continue;
        const PodRow& row = pods_[id.value()];
        if (state_.jobs.rows()[row.job.value()].key == job_key_of(state_, row.facts)) {
            join_job(id);
            continue;
        }
        if (row.bind.state == BindState::nominated) state_.nominations.drop_nomination(row.job);
        const std::string held_on =
            row.node.exists() ? state_.nodes.rows()[row.node.value()].facts.name : "";
        const std::int32_t device = row.gpu_device;
        release(id);
        leave_job(id);
        join_job(id);
        if (!held_on.empty()) hold(id, state_.nodes.node_named(held_on), device);
    }
}

void Pods::read_terminating(PoolId pool, std::vector<PodId>& out) const {
    out.clear();
    for (const PodId id : maybe_terminating_) {
        const PodRow& pod = pods_[id.value()];
        const NodeRow& node = state_.nodes.rows()[pod.node.value()];
        const bool is_there = pool.exists() ? node.pool == pool : node.pool.exists();
        if (node.known && is_there && node.facts.ready && pod.is_terminating() &&
            !pod.is_stuck(state_.session.event_time())) {
            out.push_back(id);
        }
    }
}

void Pods::note_surplus(PodId id) { maybe_terminating_.insert(id); }

PodId Pods::take_late(Instant now) {
    if (late_next_.empty() || late_next_.begin()->first > now) return PodId::none();
    return late_next_.extract(late_next_.begin()).value().second;
}

void Pods::restore_growth(PodId id, bool grows_with_demand, Key<StateReader>) {
    if (pods_[id.value()].grows_with_demand == grows_with_demand) return;
    state_.accounts.charge(id, -1);
    pods_.base(id, {}).grows_with_demand = grows_with_demand;
    state_.accounts.charge(id, 1);
}

void Pods::restore_late(Instant now, Key<StateReader>) {
    late_next_.clear();
    for (std::uint32_t i = 0; i < pods_.size(); ++i) {
        const PodRow& row = pods_[i];
        if (row.leaves_at.happened() && !row.is_stuck(now))
            late_next_.emplace(row.leaves_at + kLateToLeave, PodId{i});
    }
}

// The watch shows that it goes, or is gone. One whose eviction was refused last goes for another
// reason.
void Pods::note_going(PodId id) {
    const PodRow& pod = pods_[id.value()];
    if (pod.eviction.state != EvictionState::postponed) state_.evictions.charge_eviction(id);
    if (pod.bind.delete_in_flight) state_.evictions.note_rolled_back(id);
}

}  // namespace gpuctl
