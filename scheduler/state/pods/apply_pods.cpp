// Pods as the outside tells of them. What they hold follows from what they are, in one place.

#include <algorithm>
#include <tuple>
#include <utility>
#include "scheduler/model/policy/price.hpp"

#include "scheduler/base/check.hpp"
#include "scheduler/base/planted.hpp"
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
           // Which of the nodes that it names says its pool.
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
        // Same name, new uid: the old incarnation is gone even if nobody said so yet.
        if (const PodId old = find_pod(facts.key); old.exists()) drop_pod(old);
        Retention{state_}.forget_namesake(facts);
        id = make_pod(std::move(facts));
        state_.evictions.take_vacancy(id);
        settle_standing(id);
        if (pods_[id.value()].facts.terminating) note_leaving(id);
        return;
    }
    PodRow& row = pods_[id.value()];
    if (!planted(PlantedBug::list_pods_as_they_were)) state_.jobs.changes().note(row.job);
    state_.jobs.changes().note(row.node);
    const bool starts_to_leave = facts.terminating && !row.facts.terminating;
    if (starts_to_leave) note_going(id);
    if (starts_to_leave) set_leaves_at(id, state_.session.event_time() + facts.stop_grace);
    if (!facts.terminating) set_leaves_at(id, Instant{});
    if (changes_what_it_is(row.facts, facts)) {
        const std::string held_on =
            row.node.exists() ? state_.nodes.rows()[row.node.value()].facts.name : "";
        release(id);
        leave_job(id);
        state_.nodes.outside().note_pod(row.facts, id, false);
        const ShapeId old_shape = row.shape;
        row.shape = shapes_.acquire(facts.request, facts.ours ? facts.rules : PlacementRules{},
                                    state_.nodes.capacity());
        shapes_.release(old_shape, state_.nodes.capacity());
        pod_keys_.erase(row.facts.key);
        row.facts = std::move(facts);
        pod_keys_[row.facts.key] = id;
        state_.nodes.outside().note_pod(row.facts, id, true);
        join_job(id);
        if (!held_on.empty()) hold(id, state_.nodes.node_named(held_on), row.facts.gpu_device);
    } else if (changes_what_may_happen(row.facts, facts)) {
        if (row.job.exists()) {
            std::int64_t& open = state_.jobs.rows()[row.job.value()].run.pods_open;
            open += is_terminal(row.facts.phase) ? 1 : 0;
            open -= is_terminal(facts.phase) ? 1 : 0;
        }
        row.facts = std::move(facts);
        state_.evictions.renew_stoppable(id);
        if (row.job.exists()) join_job(id);
    } else {
        const bool begins_anew = row.facts.started_at != facts.started_at;
        row.facts = std::move(facts);  // only what people look at, and how long it has run
        state_.evictions.renew_stoppable(id);
        if (begins_anew) state_.tree.note_longer(row);
        return state_.run_times.note_end(id);
    }
    if (row.bind.bar == PodBar::refused) state_.bindings.set_bar(row, PodBar::none);
    settle_standing(id);
    state_.run_times.note_end(id);
    if (starts_to_leave) note_leaving(id);
    if (!starts_to_leave || !row.job.exists() || row.facts.phase != PodPhase::running) return;
    note_stopped(state_, state_.jobs.rows()[row.job.value()], id);
}

void Pods::on(const PodRemoved& event, EffectList&) {
    const PodId id = find_pod(event.uid);
    if (id.exists()) return drop_pod(id);
    if (state_.jobs.finished_jobs().has_ended_pods())
        Retention{state_}.remove_pod(compact_uid(event.uid));
}

PodId Pods::make_pod(PodFacts facts) {
    PodId id{static_cast<std::uint32_t>(pods_.size())};
    if (pods_vacant_.empty()) {
        pods_.emplace_back();
    } else {
        id = pods_vacant_.back();
        pods_vacant_.pop_back();
    }
    PodRow& row = pods_[id.value()];
    row = PodRow{};
    row.facts = std::move(facts);
    row.seen_at = state_.session.event_time();
    if (row.facts.terminating)
        set_leaves_at(id, state_.session.event_time() + row.facts.stop_grace);
    row.bind.state = row.facts.ours ? BindState::waiting : BindState::foreign;
    if (Retention{state_}.is_old_news(row.facts)) row.bind.state = BindState::done;
    // Where a foreign pod may go is its own scheduler's business.
    row.shape =
        shapes_.acquire(row.facts.request, row.facts.ours ? row.facts.rules : PlacementRules{},
                        state_.nodes.capacity());
    pod_ids_.emplace(row.facts.uid, id);
    pod_keys_[row.facts.key] = id;
    state_.nodes.outside().note_pod(row.facts, id, true);
    join_job(id);
    return id;
}

void Pods::drop_pod(PodId id) {
    PodRow& row = pods_[id.value()];
    note_going(id);
    if (row.job.exists()) {
        JobRow& job = state_.jobs.rows()[row.job.value()];
        if (is_running(row.facts)) note_stopped(state_, job, id);
        note_gone_start(job, row.facts.started_at);
        job.run.finished_at = std::max(job.run.finished_at, row.facts.finished_at);
        job.gang.finished.note_gone(row.facts);
    }
    release(id);
    leave_job(id);
    erase_pod(id);
}

void Pods::erase_pod(PodId id) {
    PodRow& row = pods_[id.value()];
    state_.nodes.outside().note_pod(row.facts, id, false);
    shapes_.release(row.shape, state_.nodes.capacity());
    pod_ids_.erase(row.facts.uid);
    if (const auto named = pod_keys_.find(row.facts.key);
        named != pod_keys_.end() && named->second == id) {
        pod_keys_.erase(named);
    }
    set_leaves_at(id, Instant{});
    row = PodRow{};
    pods_vacant_.push_back(id);
}

void Pods::set_leaves_at(PodId id, Instant at) {
    Instant& own = pods_[id.value()].leaves_at;
    if (own == at) return;
    if (own.happened()) late_next_.erase({own + kLateToLeave, id});
    own = at;
    if (own.happened()) late_next_.emplace(own + kLateToLeave, id);
}

// Job membership: also brings the job's queue, pool and priority up to date, which the pod seen
// last decides.
void Pods::join_job(PodId id) {
    PodRow& row = pods_[id.value()];
    if (!row.facts.ours) return;
    if (!row.job.exists()) {
        row.job = state_.jobs.job_named(job_key_of(state_, row.facts), row.facts.created_at);
        // By rank and name: the order of placing, and the same whatever order they were seen in.
        const auto comes_before = [this](PodId a, PodId b) {
            const PodFacts& x = pods_[a.value()].facts;
            const PodFacts& y = pods_[b.value()].facts;
            return std::tie(x.rank, x.key.name, x.uid) < std::tie(y.rank, y.key.name, y.uid);
        };
        std::vector<PodId>& pods = state_.jobs.rows()[row.job.value()].pods;
        pods.insert(std::lower_bound(pods.begin(), pods.end(), id, comes_before), id);
        if (!is_terminal(row.facts.phase)) ++state_.jobs.rows()[row.job.value()].run.pods_open;
    }
    JobRow& job = state_.jobs.rows()[row.job.value()];
    job.gang.finished.note_there(row.facts);
    state_.elastic.mark_surplus(id);
    if (!planted(PlantedBug::forget_new_pods)) state_.jobs.mark_dirty(row.job);
    if (is_terminal(row.facts.phase)) {
        job.run.last_phase = row.facts.phase;
        return;
    }
    job.pool_wanted = pool_wanted_by(state_, row.facts);
    job.queue_wanted = row.facts.queue;
    if (state_.accounts.budgets().change_limit(state_, job, row.facts.run_time_max))
        state_.accounts.note_room_in_limits(job);
    job.run.time_expected = row.facts.run_time_expected;
    if (job.priority == row.facts.priority) {
        state_.jobs.resolve(job);
    } else {
        const std::int32_t priority = row.facts.priority;
        state_.accounts.recharge(job, job.pool, job.queue, priority);
        state_.jobs.resolve(job);
    }
}

void Pods::leave_job(PodId id) {
    PodRow& row = pods_[id.value()];
    if (!row.job.exists()) return;
    const JobId job = row.job;
    std::erase(state_.jobs.rows()[job.value()].pods, id);
    if (!is_terminal(row.facts.phase)) --state_.jobs.rows()[job.value()].run.pods_open;
    row.job = JobId::none();
    if (!row.facts.queue_suggested.empty())
        state_.jobs.resolve(state_.jobs.rows()[job.value()]);  // the next has its say
    if (row.bind.bar == PodBar::refused)
        state_.bindings.find_end_of_refusal(state_.jobs.rows()[job.value()]);
    state_.jobs.mark_dirty(job);
    state_.jobs.drop_job_if_unused(job);
}

void Pods::settle_standing(PodId id) {
    PodRow& row = pods_[id.value()];
    if (is_terminal(row.facts.phase)) {
        const bool is_news = row.bind.state != BindState::done;
        if (is_news) state_.run_times.note_run(id);
        if (is_news && row.job.exists() && row.facts.phase == PodPhase::failed) {
            note_stopped(state_, state_.jobs.rows()[row.job.value()], id);
        }
        if (row.node.exists() && !planted(PlantedBug::ended_pods_keep_room)) release(id);
        row.bind.state = BindState::done;
        row.bind.in_flight = row.bind.delete_in_flight = false;
        state_.evictions.withdraw_eviction(row);
        row.bind.effect = EffectId{};
        return;
    }
    if (row.facts.terminating && planted(PlantedBug::terminating_pods_free_room)) {
        row.bind.state = BindState::done;
        return release(id);
    }
    if (!row.facts.node.empty()) {
        const NodeId node = state_.nodes.node_named(row.facts.node);
        const bool is_told = row.facts.gpu_device != kNoDevice && row.gpu_device != kNoDevice;
        const bool is_elsewhere =
            row.node != node || (is_told && row.facts.gpu_device != row.gpu_device);
        // The watch wins (S4). What was only claimed is charged as such.
        const bool is_claimed = row.bind.state == BindState::claimed;
        if (row.node.exists() && (is_elsewhere || is_claimed)) release(id);
        if (is_claimed) row.bind.state = BindState::waiting;
        if (!row.node.exists())
            hold(id, state_.nodes.node_named(row.facts.node), row.facts.gpu_device);
        row.bind.in_flight = false;
        row.bind.effect = EffectId{};
        row.bind.unsure_until = Instant{};
        state_.bindings.set_bar(row, PodBar::none);
        if (row.job.exists() && row.bind.state != BindState::bound &&
            state_.evictions.may_be_preempted(row)) {
            state_.tree.note_victim(state_.jobs.rows()[row.job.value()].queue);
        }
        row.bind.state = row.facts.ours ? BindState::bound : BindState::foreign;
        return;
    }
    // Without a node: what we assumed or were told of a bind stays, the watch is merely behind.
    if (!row.facts.ours) {
        if (row.node.exists()) release(id);
        row.bind.state = BindState::foreign;
    } else if (row.bind.state == BindState::foreign || row.bind.state == BindState::done) {
        if (row.node.exists()) release(id);
        row.bind.state = BindState::waiting;
    }
}

void Pods::hold(PodId id, NodeId node, std::int32_t device) {
    PodRow& row = pods_[id.value()];
    GPUCTL_CHECK(!row.node.exists(), "a pod holds on one node at a time");
    row.node = node;
    NodeRow& held = state_.nodes.rows()[node.value()];
    held.pods.push_back(id);
    state_.jobs.changes().note(row.job);
    state_.jobs.changes().note(node);
    const Shape& shape = shapes_.at(row.shape);
    const bool is_part = shape.part > GpuMilli{};
    if (!is_part) device = kNoDevice;
    if (is_part && device < 0)
        device = state_.nodes.capacity().tightest_device(node.value(), shape.needs);
    row.gpu_device = device;
    state_.nodes.capacity().take(node.value(), shape.needs, 1, device);
    state_.tree.note_change(held.pool);
    if (row.job.exists() && state_.jobs.rows()[row.job.value()].record) {
        const JobSpec& spec = state_.jobs.rows()[row.job.value()].record->spec;
        row.grows_with_demand = gpuctl::grows_with_demand(spec, row.facts.rank);
    }
    state_.accounts.charge(id, 1);
    state_.run_times.note_end(id);
    if (row.is_leaving()) maybe_leaving_.insert(id);
    if (held.windows != 0) state_.maintenance.note_stop(node, row);
}

void Pods::release(PodId id) {
    PodRow& row = pods_[id.value()];
    if (!row.node.exists()) return;
    const NodeId node = row.node;
    state_.jobs.changes().note(row.job);
    state_.jobs.changes().note(node);
    NodeRow& held = state_.nodes.rows()[node.value()];
    const auto position = std::find(held.pods.begin(), held.pods.end(), id);
    GPUCTL_CHECK(position != held.pods.end(), "a node knows the pods it holds");
    *position = held.pods.back();
    held.pods.pop_back();
    if (!planted(PlantedBug::keep_room_on_release)) {
        state_.nodes.capacity().give_back(node.value(), shapes_.at(row.shape).needs, 1,
                                          row.gpu_device);
    }
    if (planted(PlantedBug::give_room_back_twice)) {
        state_.nodes.capacity().give_back(node.value(), shapes_.at(row.shape).needs, 1,
                                          row.gpu_device);
    }
    state_.accounts.charge(id, -1);
    maybe_leaving_.erase(id);
    row.node = NodeId::none();
    row.gpu_device = kNoDevice;
    row.grows_with_demand = false;
    state_.run_times.note_end(id);
    if (!planted(PlantedBug::forget_gain_on_release)) state_.tree.note_gain(held.pool);
    state_.nominations.look_at_claims();
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
    std::sort(uids.begin(), uids.end());  // ids are other ones after a restart
    for (const std::string& uid : uids) {
        const PodId id = find_pod(uid);
        if (!id.exists() || !pods_[id.value()].job.exists()) continue;
        PodRow& row = pods_[id.value()];
        if (state_.jobs.rows()[row.job.value()].key == job_key_of(state_, row.facts)) {
            join_job(id);
            continue;
        }
        if (row.bind.state == BindState::claimed) state_.nominations.drop_claim(row.job);
        const std::string held_on =
            row.node.exists() ? state_.nodes.rows()[row.node.value()].facts.name : "";
        const std::int32_t device = row.gpu_device;
        release(id);
        leave_job(id);
        join_job(id);
        if (!held_on.empty()) hold(id, state_.nodes.node_named(held_on), device);
    }
}

void Pods::read_leaving(PoolId pool, std::vector<PodId>& out) const {
    out.clear();
    for (const PodId id : maybe_leaving_) {
        const PodRow& pod = pods_[id.value()];
        const NodeRow& node = state_.nodes.rows()[pod.node.value()];
        const bool is_there = pool.exists() ? node.pool == pool : node.pool.exists();
        if (node.known && is_there && node.facts.ready && pod.is_leaving() &&
            !pod.is_stuck(state_.session.event_time())) {
            out.push_back(id);
        }
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
