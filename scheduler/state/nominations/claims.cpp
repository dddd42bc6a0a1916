// Room that pods are being stopped for: which job it is kept for, and what becomes of those that
// stop. What is claimed counts as held, by node and by queue, so that no other job takes it; a node
// may be over its room by what the victims still hold.

#include <algorithm>
#include <utility>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/pods/leaving.hpp"

namespace gpuctl {
namespace {

// Of victims of which a disruption budget lets none go: then others are looked for.
constexpr std::int32_t kAskedInVainMost = 2;
// Of a claim in vain, one in which some have gone and others could not: as often as this are the
// former stopped for nothing. The budget that was in the way may be gone long before kSparedFor is
// over, and the budget of evictions bounds what is stopped until then.
constexpr Duration kSparedInVain = Duration::seconds(300);
// Before a claim ends its victims are asked once more, though their pause is longer.
constexpr Duration kAskedLast{-5'000};  // from its end

// Again and again, and none of them goes: while one is on its way the others may follow.
bool is_asked_in_vain(const ClusterState& state, const JobRow& job) {
    return job.nomination.eviction_failures >= kAskedInVainMost &&
           std::all_of(job.nomination.victims.begin(), job.nomination.victims.end(),
                       [&state](const std::string& uid) {
                           const PodId victim = state.pods.find_pod(uid);
                           if (!victim.exists()) return false;
                           const PodRow& pod = state.pod(victim);
                           return pod.eviction.state == EvictionState::postponed &&
                                  !pod.facts.terminating;
                       });
}

bool has_victim_gone(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.nomination.victims.begin(), job.nomination.victims.end(),
                       [&state](const std::string& uid) {
                           const PodId victim = state.pods.find_pod(uid);
                           if (!victim.exists()) return true;
                           const PodRow& pod = state.pod(victim);
                           return pod.facts.terminating ||
                                  pod.eviction.state == EvictionState::accepted;
                       });
}

}  // namespace

void Nominations::claim(JobId id, const std::vector<Placement>& round,
                        const std::vector<Victim>& victims, EvictionCause cause,
                        EffectList& effects) {
    state_.waiting.leave_queue(id);
    JobRow& job = state_.jobs.rows()[id.value()];
    Duration grace;
    const Cause why = state_.evictions.why_evicted(job, cause);
    if (cause != EvictionCause::shrunk && !victims.empty()) state_.evictions.forget_old_moves();
    for (const Victim& victim : victims) {
        PodRow& pod = state_.pods.rows()[victim.pod.value()];
        pod.eviction.beneficiary = job.key;
        grace = std::max(grace, pod.facts.stop_grace);
        job.nomination.victims.push_back(pod.facts.uid);
        if (cause == EvictionCause::shrunk) continue;
        state_.evictions.request_eviction(victim.pod, cause, victim.why ? victim.why : why);
        if (planted(PlantedBug::evict_all_but_one) && &victim == &victims.back()) continue;
        state_.evictions.send_eviction(victim.pod, effects);
    }
    if (cause == EvictionCause::shrunk) state_.elastic.shrink(victims, why, effects);
    job.nomination.until = state_.session.event_time() +
                           claim_lasts(std::max(grace, grace_of_leaving(state_, job, round)));
    job.nomination.pods = static_cast<std::int64_t>(round.size());
    claims_.push_back(id);
    for (const Placement& placement : round) {
        if (planted(PlantedBug::keep_no_claim)) break;
        state_.pods.rows()[placement.pod.value()].bind.state = BindState::claimed;
        state_.pods.hold(placement.pod, placement.node, placement.device);
    }
    state_.session.set_timer(id);
    state_.jobs.mark_dirty(id);  // its claim may be free at once, and its story is another
}

void Evictions::send_eviction(PodId id, EffectList& effects) {
    PodRow& pod = state_.pods.rows()[id.value()];
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    pod.eviction.state = EvictionState::asked;
    pod.eviction.effect = state_.session.next_effect();
    state_.waiting.leave_queue(
        pod.job);  // what it asked for is no longer what it needs: the next Plan looks again
    state_.jobs.mark_dirty(pod.job);
    state_.pods.note_leaving(id);
    effects.add(EvictPod{pod.eviction.effect,
                         state_.session.epoch(),
                         {pod.facts.key, pod.facts.uid},
                         pod.facts.stop_grace,
                         pod.eviction.request.why,
                         job.key,
                         pod.eviction.beneficiary});
}

void Evictions::resend_evictions(EffectId before, EffectList& effects) {
    if (planted(PlantedBug::forget_unanswered)) return;
    for (const auto& [key, id] : state_.jobs.job_ids()) {
        for (const PodId pod_id : state_.jobs.rows()[id.value()].pods) {
            PodRow& pod = state_.pods.rows()[pod_id.value()];
            const bool is_open = pod.eviction.state == EvictionState::asked ||
                                 pod.eviction.state == EvictionState::accepted ||
                                 (pod.eviction.state == EvictionState::postponed &&
                                  pod.eviction.beneficiary != ObjectKey{});
            if (!is_open || pod.facts.terminating || !(pod.eviction.effect < before)) continue;
            send_eviction(pod_id, effects);
        }
    }
}

void Evictions::evict_postponed(JobId id, EffectList& effects) {
    JobRow& job = state_.jobs.rows()[id.value()];
    if (!job.nomination.evict_again_at.happened() ||
        job.nomination.evict_again_at > state_.session.event_time())
        return;
    job.nomination.evict_again_at = Instant{};
    for (const std::string& uid : job.nomination.victims) {
        const PodId victim = state_.pods.find_pod(uid);
        if (!victim.exists()) continue;
        const PodRow& pod = state_.pods.rows()[victim.value()];
        if (pod.eviction.state == EvictionState::postponed && !pod.facts.terminating) {
            send_eviction(victim, effects);
        }
    }
}

void Evictions::spare(PodRow& pod, Duration length) {
    withdraw_eviction(pod);
    pod.eviction.spared_until = state_.session.event_time() + length;
    if (state_.maintenance.calendar().nodes.contains(pod.node.value()))
        state_.maintenance.note_stop(pod.node, pod);  // then it is asked
}

void Nominations::drop_claim(JobId id) {
    JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::claimed) continue;
        state_.pods.release(pod_id);
        pod.bind.state = BindState::waiting;
    }
    // Of a claim that fell for another reason nobody knows whether they could have gone in time;
    // and where none has gone, none was stopped in vain.
    const bool was_in_vain =
        job.nomination.until <= state_.session.event_time() && has_victim_gone(state_, job);
    const Duration spared = was_in_vain ? kSparedInVain : state_.session.policy().backoff_maximum;
    std::vector<JobId> shrunk;
    for (const std::string& uid : job.nomination.victims) {
        const PodId victim = state_.pods.find_pod(uid);
        if (!victim.exists()) continue;
        PodRow& pod = state_.pods.rows()[victim.value()];
        if (pod.is_surplus) shrunk.push_back(pod.job);
        if (pod.eviction.state == EvictionState::postponed) state_.evictions.spare(pod, spared);
        const bool was_leaving = pod.is_leaving();
        // An eviction that is under way shows in the watch, or it did not happen.
        pod.eviction.state = EvictionState::none;
        pod.eviction.beneficiary = ObjectKey{};
        if (was_leaving && !pod.is_leaving()) state_.pods.note_leaving(victim);
        if (!state_.maintenance.calendar().nodes.empty())
            state_.maintenance.calendar().clock.drain_due = true;  // it may have to go still
        state_.jobs.mark_dirty(pod.job);
    }
    job.nomination.until = Instant{};
    job.nomination.pods = 0;
    job.nomination.victims.clear();
    job.nomination.victim_refused = false;
    job.nomination.eviction_failures = 0;
    job.nomination.evict_again_at = Instant{};
    std::erase(claims_, id);
    for (const JobId of : shrunk) state_.elastic.keep_size(of);
    state_.session.set_timer(id);
}

void Nominations::read_claim(const JobRow& job, std::vector<Placement>& round) const {
    round.clear();
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        if (pod.bind.state != BindState::claimed) continue;
        const bool forgets = planted(PlantedBug::claim_no_device);
        round.push_back({id, pod.node, forgets ? kNoDevice : pod.gpu_device});
    }
}

bool Pods::is_free(const std::vector<Placement>& round) const {
    return std::all_of(round.begin(), round.end(), [this](const Placement& placement) {
        const Needs& needs = shapes_.at(pods_[placement.pod.value()].shape).needs;
        return std::none_of(needs.begin(), needs.end(), [&](const Need& need) {
            return state_.nodes.capacity().is_overdrawn(placement.node.value(), need,
                                                        placement.device);
        });
    });
}

bool Nominations::is_being_moved(const JobRow& job) const {
    if (state_.pods.maybe_leaving().empty() || job.holding.pods == 0) return false;
    return std::all_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        // What is claimed for it runs nowhere yet.
        if (!pod.node.exists() || pod.bind.state == BindState::claimed) return true;
        return pod.eviction.state != EvictionState::none && pod.is_leaving();
    });
}

// Something went or changed on a node: whoever waits for that looks again.
void Nominations::look_at_claims() {
    if (planted(PlantedBug::forget_claims)) return;
    for (const JobId id : claims_) state_.jobs.mark_dirty(id);
}

// One more pod of its queue could be stopped for others now.
void QueueTree::note_victim(QueueId queue) {
    if (!queue.exists() || planted(PlantedBug::forget_new_victims)) return;
    QueueRow& row = queues_[queue.value()];
    ++row.victims;
    ++pools_[row.pool.value()].victims;
    state_.session.idle() = false;
}

// More is left of it than was thought: who needs less may have it stopped now.
void QueueTree::note_longer(const PodRow& pod) {
    if (!pod.job.exists() || !pod.node.exists() || !pod.facts.preemptible) return;
    const QueueId queue = state_.jobs.rows()[pod.job.value()].queue;
    if (queue.exists() && state_.run_times.stops_long_for_short(queues_[queue.value()]))
        note_victim(queue);
}

// A queue of the pool holds more than before: perhaps more than it is guaranteed.
void QueueTree::note_loan(PoolId id) {
    PoolRow& pool = pools_[id.value()];
    const bool is_guaranteed =
        std::any_of(pool.roots.begin(), pool.roots.end(),
                    [this](QueueId root) { return queues_[root.value()].guaranteed > GpuMilli{}; });
    if (!is_guaranteed) return;
    ++pool.victims;
    state_.session.idle() = false;
}

// It is on its way out, or stays after all: what leaves anyway may be so much that stopping others
// as well makes enough room, and what stays may be what somebody waited for instead of stopping
// others.
void Pods::note_leaving(PodId id) {
    const PodRow& pod = pods_[id.value()];
    if (pod.node.exists()) maybe_leaving_.insert(id);
    if (!pod.node.exists() || planted(PlantedBug::forget_new_victims)) return;
    const PoolId pool = state_.nodes.rows()[pod.node.value()].pool;
    if (!pool.exists()) return;
    ++state_.tree.pool_rows()[pool.value()].leaving;
    if (pod.job.exists())
        ++state_.tree.tenant_rows()[state_.jobs.rows()[pod.job.value()].tenant.value()].leaving;
    state_.session.idle() = false;
}

void Nominations::on(const PodEvictOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists()) return;
    PodRow& pod = state_.pods.rows()[id.value()];
    if (pod.eviction.effect != event.effect) return;
    const bool goes = event.result == EvictResult::evicted || event.result == EvictResult::gone;
    if (goes) state_.evictions.charge_eviction(id);
    if (pod.eviction.state != EvictionState::asked) {  // its claim has fallen meanwhile
        if (!goes) pod.eviction.request.is_uncharged = false;
        return;
    }
    pod.message = event.message;
    state_.jobs.mark_dirty(pod.job);
    const JobId beneficiary = state_.jobs.find_job(pod.eviction.beneficiary);
    if (pod.eviction.beneficiary == ObjectKey{}) {
        state_.maintenance.note_drain_outcome(pod, event.result);
    } else if (beneficiary.exists()) {
        note_claim_outcome(pod, beneficiary, event.result);
    } else {
        state_.evictions.spare(pod, kSparedFor);  // drop_claim() lets nobody get here
    }
    if (!pod.is_leaving()) state_.pods.note_leaving(id);
}

// It stays after all: its claim is worth nothing.
void Nominations::disappoint(const PodRow& victim) {
    const JobId beneficiary = state_.jobs.find_job(victim.eviction.beneficiary);
    if (!beneficiary.exists() ||
        !state_.jobs.rows()[beneficiary.value()].nomination.until.happened())
        return;
    state_.jobs.rows()[beneficiary.value()].nomination.victim_refused = true;
    state_.jobs.mark_dirty(beneficiary);
}

void Nominations::note_claim_outcome(PodRow& pod, JobId beneficiary, EvictResult result) {
    JobRow& job = state_.jobs.rows()[beneficiary.value()];
    state_.jobs.mark_dirty(beneficiary);
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            pod.eviction.state = EvictionState::accepted;
            job.nomination.eviction_failures = 0;
            return;
        case EvictResult::refused:
            state_.evictions.spare(pod, kSparedFor);
            job.nomination.victim_refused = true;
            return;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            pod.eviction.state = EvictionState::postponed;
            postpone(job, beneficiary);
            if (result == EvictResult::disruption_budget && is_asked_in_vain(state_, job)) {
                job.nomination.victim_refused = true;
            }
            return;
    }
}

void Nominations::postpone(JobRow& job, JobId id) {
    if (job.nomination.evict_again_at > state_.session.event_time())
        return;  // one backoff for all that are asked together
    ++job.nomination.eviction_failures;
    job.nomination.evict_again_at =
        state_.session.event_time() + backoff_after(job.nomination.eviction_failures,
                                                    state_.session.policy().backoff_initial,
                                                    state_.session.policy().backoff_maximum);
    const Instant last = job.nomination.until + kAskedLast;
    if (job.nomination.evict_again_at >= job.nomination.until && last > state_.session.event_time())
        job.nomination.evict_again_at = last;
    state_.session.set_timer(id);
}

// Those for whom its ranks were to go look for others.
void Nominations::disappoint_claims(const JobRow& job) {
    for (const PodId id : job.pods) {
        if (state_.pods.rows()[id.value()].is_surplus) disappoint(state_.pods.rows()[id.value()]);
    }
}

}  // namespace gpuctl
