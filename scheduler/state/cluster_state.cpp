// Entry of events, leadership, timers.

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/base/planted.hpp"
#include "scheduler/state/retention.hpp"
#include "scheduler/state/wait_target.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

// Its answer is not known, so that it may be carried out as late as its deadline.
void give_up_creation(JobRow& job) {
    job.create_lands_until = std::max(job.create_lands_until, job.create_deadline);
    job.create_deadline = Instant{};
}

}  // namespace

ClusterState::ClusterState() {
    capacity_.reserve_pod_slots(policy_.pods_reserved_per_node);
    (void)pool_named(kDefaultPool);
}

void ClusterState::apply(const Event& event, Instant now, EffectList& effects) {
    now_ = std::max(now_, now);  // a clock that steps back does not undo a deadline
    looked_at_ = {};
    finish_ticks();
    if (!budgets_.empty() && budgets_.turns_at() <= now_) turn_budgets();
    if (calendar_.clock.turns_at.happened() && calendar_.clock.turns_at <= now_) turn_calendar();
    ring_timers();
    std::visit([&](const auto& kind) { on(kind, effects); }, event);
    Retention{*this}.settle(effects);
    count_work();
    if (leading_) request_wake(effects, false);
}

void ClusterState::on(const CacheSynced&, EffectList&) {
    synced_ = true;
    resend_due_ = true;
}

void ClusterState::on(const LeadershipChanged& event, EffectList& effects) {
    const bool is_new_term = event.leading && (!leading_ || event.epoch != epoch_);
    leading_ = event.leading;
    epoch_ = event.epoch;
    if (!is_new_term) return;
    // What an earlier term sent may or may not have arrived. Binds stay assumed and are sent again
    // by the next Plan; workloads at once. Both are idempotent by uid.
    resend_due_ = true;
    for (const auto& [key, id] : job_ids_) {
        JobRow& job = jobs_[id.value()];
        if (planted(PlantedBug::forget_open_workloads)) break;
        give_up_creation(job);
        if (job.workload_in_flight) job.workload_due = true;
        job.workload_in_flight = false;
        if (job.workload_due) send_later(job);
        if (job.elastic.in_flight) mark_dirty(id);
        job.elastic.in_flight = false;
    }
    send_due_workloads(effects);
    if (!planted(PlantedBug::forget_wake_in_a_new_term)) request_wake(effects, true);
}

void ClusterState::on(const WokeUp&, EffectList& effects) {
    wake_requested_ = Instant{};
    if (!leading_) return;
    send_due_workloads(effects);
}

bool ClusterState::wants_plan() const {
    if (!leading_ || !synced_) return false;
    const bool anybody_wants = book_.jobs_waiting() > 0 || !elastic_jobs_.empty();
    return resend_due_ || !dirty_.empty() || calendar_.clock.drain_due || (!idle_ && anybody_wants);
}

// One timer per job, at the earliest time at which something of it comes due.
void ClusterState::set_timer(JobId id) {
    JobRow& job = jobs_[id.value()];
    Instant next;
    const auto consider = [&](Instant at) {
        if (at > now_ && (!next.happened() || at < next)) next = at;
    };
    if (!planted(PlantedBug::no_timer_for_backoff)) consider(job.not_before);
    consider(job.refusal_ends_at);
    if (!planted(PlantedBug::no_timer_for_gangs)) consider(job.gang_deadline);
    if (!planted(PlantedBug::no_timer_for_stranded_gangs)) consider(stranded_from(job));
    if (job.workload_due && !planted(PlantedBug::no_timer_for_workloads)) {
        consider(job.workload_not_before);
    }
    if (!planted(PlantedBug::no_timer_for_claims)) consider(job.claim_until);
    consider(job.evict_again_at);
    if (is_elastic(job)) consider(next_size_change(job));
    if (job.elastic.deferred_from > 0) consider(job.elastic.grow_from);
    if (const auto target = wait_target_of(*this, job)) {
        if (!planted(PlantedBug::no_timer_for_wait_targets)) consider(target->near_from);
        consider(target->missed_from);
    }
    if (!planted(PlantedBug::no_timer_for_the_late)) consider(job.lateness.again_at);
    if (next == job.timer_at) return;
    if (job.timer_at.happened()) timers_.erase({job.timer_at, job.arrival, id});
    job.timer_at = next;
    if (next.happened()) timers_.emplace(next, job.arrival, id);
}

void ClusterState::ring_timers() {
    note_ends_of_protection();
    // Nobody waits any more for one that should have gone: others may be stopped instead, what was
    // promised of it is not, and who had it stopped gives up.
    while (!late_next_.empty() && late_next_.begin()->first <= now_) {
        const PodId id = late_next_.begin()->second;
        late_next_.erase(late_next_.begin());
        const PodRow& pod = pods_[id.value()];
        note_leaving(id);
        if (pod.node.exists()) note_change(nodes_[pod.node.value()].pool);
        if (const JobId by = find_job(pod.evicted_for); by.exists()) mark_dirty(by);
    }
    while (!timers_.empty() && std::get<Instant>(*timers_.begin()) <= now_) {
        const JobId id = std::get<JobId>(*timers_.begin());
        timers_.erase(timers_.begin());
        jobs_[id.value()].timer_at = Instant{};
        mark_dirty(id);
        set_timer(id);
    }
}

void ClusterState::request_wake(EffectList& effects, bool again) {
    // Whoever was asked before may be gone, even when nothing is due now: believing in that wake-up
    // would keep later ones from being asked for.
    const bool believes = timers_.empty() && planted(PlantedBug::believe_in_old_wakes);
    if (again && !believes) wake_requested_ = Instant{};
    Instant earliest = look_again_next_;
    const auto consider = [&earliest](Instant at) {
        if (at.happened() && (!earliest.happened() || at < earliest)) earliest = at;
    };
    if (!late_next_.empty()) consider(late_next_.begin()->first);
    if (!timers_.empty()) consider(std::get<Instant>(*timers_.begin()));
    if (!planted(PlantedBug::no_timer_for_windows)) consider(calendar_.clock.turns_at);
    if (!planted(PlantedBug::no_timer_for_budgets)) consider(budgets_.turns_at());
    consider(Retention{*this}.next_due());
    if (!earliest.happened()) return;
    // A wake-up that comes too early does no harm, so a later need moves it only when it is gone.
    if (wake_requested_.happened() && wake_requested_ <= earliest) return;
    wake_requested_ = earliest;
    effects.add(WakeAt{earliest});
}

}  // namespace gpuctl
