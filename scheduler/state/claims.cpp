// Room that pods are being stopped for: which job it is kept for, and what becomes of those that
// stop. What is claimed counts as held, by node and by queue, so that no other job takes it; a node
// may be over its room by what the victims still hold.

#include <algorithm>
#include <utility>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/leaving.hpp"

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
    return job.eviction_failures >= kAskedInVainMost &&
           std::all_of(job.victims.begin(), job.victims.end(), [&state](const std::string& uid) {
               const PodId victim = state.find_pod(uid);
               if (!victim.exists()) return false;
               const PodRow& pod = state.pod(victim);
               return pod.eviction == Eviction::postponed && !pod.facts.terminating;
           });
}

bool has_victim_gone(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.victims.begin(), job.victims.end(), [&state](const std::string& uid) {
        const PodId victim = state.find_pod(uid);
        if (!victim.exists()) return true;
        const PodRow& pod = state.pod(victim);
        return pod.facts.terminating || pod.eviction == Eviction::accepted;
    });
}

}  // namespace

void ClusterState::claim(JobId id, const std::vector<Placement>& round,
                         const std::vector<Victim>& victims, EvictionCause cause,
                         EffectList& effects) {
    leave_queue(id);
    JobRow& job = jobs_[id.value()];
    Duration grace;
    const std::string why = why_evicted(job, cause);
    if (cause != EvictionCause::shrunk && !victims.empty()) forget_old_moves();
    for (const Victim& victim : victims) {
        PodRow& pod = pods_[victim.pod.value()];
        pod.evicted_for = job.key;
        grace = std::max(grace, pod.facts.stop_grace);
        job.victims.push_back(pod.facts.uid);
        if (cause == EvictionCause::shrunk) continue;
        request_eviction(victim.pod, cause, victim.why.empty() ? why : victim.why);
        if (planted(PlantedBug::evict_all_but_one) && &victim == &victims.back()) continue;
        send_eviction(victim.pod, effects);
    }
    if (cause == EvictionCause::shrunk) shrink(victims, why, effects);
    job.claim_until = now_ + claim_lasts(std::max(grace, grace_of_leaving(*this, job, round)));
    job.claim_pods = static_cast<std::int64_t>(round.size());
    claims_.push_back(id);
    for (const Placement& placement : round) {
        if (planted(PlantedBug::keep_no_claim)) break;
        pods_[placement.pod.value()].standing = PodStanding::claimed;
        hold(placement.pod, placement.node, placement.device);
    }
    set_timer(id);
    mark_dirty(id);  // its claim may be free at once, and its story is another
}

std::string ClusterState::why_evicted(const JobRow& job, EvictionCause cause) const {
    const std::string whom = "job " + to_string(job.key);
    if (cause == EvictionCause::shrunk) return "shrunk for " + whom + ", which waited";
    if (cause == EvictionCause::preempted) return "preempted by " + whom + " of higher priority";
    return "stopped because its GPUs were lent: queue " + queue_path(job.queue) +
           " takes them back for " + whom;
}

void ClusterState::send_eviction(PodId id, EffectList& effects) {
    PodRow& pod = pods_[id.value()];
    const JobRow& job = jobs_[pod.job.value()];
    pod.eviction = Eviction::asked;
    pod.evict_effect = next_effect();
    leave_queue(
        pod.job);  // what it asked for is no longer what it needs: the next Plan looks again
    mark_dirty(pod.job);
    note_leaving(id);
    effects.add(EvictPod{pod.evict_effect,
                         epoch_,
                         {pod.facts.key, pod.facts.uid},
                         pod.facts.stop_grace,
                         pod.eviction_request.why,
                         job.key,
                         pod.evicted_for});
}

void ClusterState::resend_evictions(EffectId before, EffectList& effects) {
    if (planted(PlantedBug::forget_unanswered)) return;
    for (const auto& [key, id] : job_ids_) {
        for (const PodId pod_id : jobs_[id.value()].pods) {
            PodRow& pod = pods_[pod_id.value()];
            const bool is_open =
                pod.eviction == Eviction::asked || pod.eviction == Eviction::accepted ||
                (pod.eviction == Eviction::postponed && pod.evicted_for != ObjectKey{});
            if (!is_open || pod.facts.terminating || !(pod.evict_effect < before)) continue;
            send_eviction(pod_id, effects);
        }
    }
}

void ClusterState::evict_postponed(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    if (!job.evict_again_at.happened() || job.evict_again_at > now_) return;
    job.evict_again_at = Instant{};
    for (const std::string& uid : job.victims) {
        const PodId victim = find_pod(uid);
        if (!victim.exists()) continue;
        const PodRow& pod = pods_[victim.value()];
        if (pod.eviction == Eviction::postponed && !pod.facts.terminating) {
            send_eviction(victim, effects);
        }
    }
}

void ClusterState::spare(PodRow& pod, Duration length) {
    withdraw_eviction(pod);
    pod.spared_until = now_ + length;
    if (calendar_.nodes.contains(pod.node.value())) note_stop(pod.node, pod);  // then it is asked
}

void ClusterState::drop_claim(JobId id) {
    JobRow& job = jobs_[id.value()];
    for (const PodId pod_id : job.pods) {
        PodRow& pod = pods_[pod_id.value()];
        if (pod.standing != PodStanding::claimed) continue;
        release(pod_id);
        pod.standing = PodStanding::waiting;
    }
    // Of a claim that fell for another reason nobody knows whether they could have gone in time;
    // and where none has gone, none was stopped in vain.
    const bool was_in_vain = job.claim_until <= now_ && has_victim_gone(*this, job);
    const Duration spared = was_in_vain ? kSparedInVain : policy_.backoff_maximum;
    std::vector<JobId> shrunk;
    for (const std::string& uid : job.victims) {
        const PodId victim = find_pod(uid);
        if (!victim.exists()) continue;
        PodRow& pod = pods_[victim.value()];
        if (pod.is_surplus) shrunk.push_back(pod.job);
        if (pod.eviction == Eviction::postponed) spare(pod, spared);
        const bool was_leaving = pod.is_leaving();
        // An eviction that is under way shows in the watch, or it did not happen.
        pod.eviction = Eviction::none;
        pod.evicted_for = ObjectKey{};
        if (was_leaving && !pod.is_leaving()) note_leaving(victim);
        if (!calendar_.nodes.empty()) calendar_.clock.drain_due = true;  // it may have to go still
        mark_dirty(pod.job);
    }
    job.claim_until = Instant{};
    job.claim_pods = 0;
    job.victims.clear();
    job.victim_refused = false;
    job.eviction_failures = 0;
    job.evict_again_at = Instant{};
    std::erase(claims_, id);
    for (const JobId of : shrunk) keep_size(of);
    set_timer(id);
}

void ClusterState::read_claim(const JobRow& job, std::vector<Placement>& round) const {
    round.clear();
    for (const PodId id : job.pods) {
        const PodRow& pod = pods_[id.value()];
        if (pod.standing != PodStanding::claimed) continue;
        const bool forgets = planted(PlantedBug::claim_no_device);
        round.push_back({id, pod.node, forgets ? kNoDevice : pod.gpu_device});
    }
}

bool ClusterState::is_free(const std::vector<Placement>& round) const {
    return std::all_of(round.begin(), round.end(), [this](const Placement& placement) {
        const Needs& needs = shapes_.at(pods_[placement.pod.value()].shape).needs;
        return std::none_of(needs.begin(), needs.end(), [&](const Need& need) {
            return capacity_.is_overdrawn(placement.node.value(), need, placement.device);
        });
    });
}

bool ClusterState::is_being_moved(const JobRow& job) const {
    if (maybe_leaving_.empty() || job.pods_held == 0) return false;
    return std::all_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = pods_[id.value()];
        // What is claimed for it runs nowhere yet.
        if (!pod.node.exists() || pod.standing == PodStanding::claimed) return true;
        return pod.eviction != Eviction::none && pod.is_leaving();
    });
}

// Something went or changed on a node: whoever waits for that looks again.
void ClusterState::look_at_claims() {
    if (planted(PlantedBug::forget_claims)) return;
    for (const JobId id : claims_) mark_dirty(id);
}

// One more pod of its queue could be stopped for others now.
void ClusterState::note_victim(QueueId queue) {
    if (!queue.exists() || planted(PlantedBug::forget_new_victims)) return;
    QueueRow& row = queues_[queue.value()];
    ++row.victims;
    ++pools_[row.pool.value()].victims;
    idle_ = false;
}

// More is left of it than was thought: who needs less may have it stopped now.
void ClusterState::note_longer(const PodRow& pod) {
    if (!pod.job.exists() || !pod.node.exists() || !pod.facts.preemptible) return;
    const QueueId queue = jobs_[pod.job.value()].queue;
    if (queue.exists() && stops_long_for_short(queues_[queue.value()])) note_victim(queue);
}

// A queue of the pool holds more than before: perhaps more than it is guaranteed.
void ClusterState::note_loan(PoolId id) {
    PoolRow& pool = pools_[id.value()];
    const bool is_guaranteed =
        std::any_of(pool.roots.begin(), pool.roots.end(),
                    [this](QueueId root) { return queues_[root.value()].guaranteed > GpuMilli{}; });
    if (!is_guaranteed) return;
    ++pool.victims;
    idle_ = false;
}

// It is on its way out, or stays after all: what leaves anyway may be so much that stopping others
// as well makes enough room, and what stays may be what somebody waited for instead of stopping
// others.
void ClusterState::note_leaving(PodId id) {
    const PodRow& pod = pods_[id.value()];
    if (pod.node.exists()) maybe_leaving_.insert(id);
    if (!pod.node.exists() || planted(PlantedBug::forget_new_victims)) return;
    const PoolId pool = nodes_[pod.node.value()].pool;
    if (!pool.exists()) return;
    ++pools_[pool.value()].leaving;
    if (pod.job.exists()) ++tenants_[jobs_[pod.job.value()].tenant.value()].leaving;
    idle_ = false;
}

void ClusterState::look_again(QueueId id, Instant at) {
    Instant& own = queues_[id.value()].look_again_at;
    if (!own.happened() || at < own) own = at;
    if (!look_again_next_.happened() || at < look_again_next_) look_again_next_ = at;
}

void ClusterState::note_ends_of_protection() {
    if (!look_again_next_.happened() || look_again_next_ > now_) return;
    look_again_next_ = Instant{};
    for (std::uint32_t i = 0; i < queues_.size(); ++i) {
        const Instant at = std::exchange(queues_[i].look_again_at, Instant{});
        if (!at.happened()) continue;
        if (at <= now_) {
            note_victim(QueueId{i});
        } else {
            look_again(QueueId{i}, at);
        }
    }
}

void ClusterState::on(const PodEvictOutcome& event, EffectList&) {
    const PodId id = find_pod(event.uid);
    if (!id.exists()) return;
    PodRow& pod = pods_[id.value()];
    if (pod.evict_effect != event.effect) return;
    const bool goes = event.result == EvictResult::evicted || event.result == EvictResult::gone;
    if (goes) charge_eviction(id);
    if (pod.eviction != Eviction::asked) {  // its claim has fallen meanwhile
        if (!goes) pod.eviction_request.is_uncharged = false;
        return;
    }
    pod.message = event.message;
    mark_dirty(pod.job);
    const JobId beneficiary = find_job(pod.evicted_for);
    if (pod.evicted_for == ObjectKey{}) {
        note_drain_outcome(pod, event.result);
    } else if (beneficiary.exists()) {
        note_claim_outcome(pod, beneficiary, event.result);
    } else {
        spare(pod, kSparedFor);  // drop_claim() lets nobody get here
    }
    if (!pod.is_leaving()) note_leaving(id);
}

// It stays after all: its claim is worth nothing.
void ClusterState::disappoint(const PodRow& victim) {
    const JobId beneficiary = find_job(victim.evicted_for);
    if (!beneficiary.exists() || !jobs_[beneficiary.value()].claim_until.happened()) return;
    jobs_[beneficiary.value()].victim_refused = true;
    mark_dirty(beneficiary);
}

void ClusterState::note_claim_outcome(PodRow& pod, JobId beneficiary, EvictResult result) {
    JobRow& job = jobs_[beneficiary.value()];
    mark_dirty(beneficiary);
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            pod.eviction = Eviction::accepted;
            job.eviction_failures = 0;
            return;
        case EvictResult::refused:
            spare(pod, kSparedFor);
            job.victim_refused = true;
            return;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            pod.eviction = Eviction::postponed;
            postpone(job, beneficiary);
            if (result == EvictResult::disruption_budget && is_asked_in_vain(*this, job)) {
                job.victim_refused = true;
            }
            return;
    }
}

void ClusterState::postpone(JobRow& job, JobId id) {
    if (job.evict_again_at > now_) return;  // one backoff for all that are asked together
    ++job.eviction_failures;
    job.evict_again_at = now_ + backoff_after(job.eviction_failures, policy_.backoff_initial,
                                              policy_.backoff_maximum);
    const Instant last = job.claim_until + kAskedLast;
    if (job.evict_again_at >= job.claim_until && last > now_) job.evict_again_at = last;
    set_timer(id);
}

}  // namespace gpuctl
