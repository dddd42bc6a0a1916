// Room for which pods are evicted: the job for which it is reserved, and the outcomes of the
// evictions. Nominated room counts as held, by node and by queue, so that no other job takes it. A
// node may be overdrawn by what the victims still hold.

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/pods/terminating.hpp"

namespace gpuctl {
namespace {

// If disruption budgets refuse the eviction of all victims this many times, other victims are
// searched.
constexpr std::int32_t kRefusalsMost = 2;
// A nomination has failed if some victims have gone and the others could not be evicted in time:
// then the former were evicted in vain, and the latter are spared for this time. Not for
// kSparedFor: the disruption budget may allow evictions long before that, and the budget of
// evictions limits how many pods are evicted until then.
constexpr Duration kSparedAfterRefusals = Duration::seconds(300);
// Shortly before a nomination ends, its postponed victims are tried once more, even if their pause
// is longer.
constexpr Duration kAskedLast{-5'000};  // from the end of the nomination

// True if all evictions were refused repeatedly. While one victim is terminating, the others may
// follow.
bool is_refused_repeatedly(const ClusterState& state, const JobRow& job) {
    return job.nomination.eviction_failures >= kRefusalsMost &&
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

void Nominations::nominate(JobId id, const std::vector<Placement>& round,
                           const std::vector<Victim>& victims, EvictionCause cause,
                           EffectList& effects) {
    state_.waiting.leave_queue(id);
    const JobRow& job = state_.jobs.rows()[id.value()];
    NominationRow& nomination = state_.jobs.rows().nomination(id, {});
    Duration grace;
    const Cause why = state_.evictions.why_evicted(job, cause);
    if (cause != EvictionCause::shrunk && !victims.empty()) state_.evictions.forget_old_moves();
    for (const Victim& victim : victims) {
        const PodRow& pod = state_.pods.rows()[victim.pod.value()];
        state_.evictions.assign(victim.pod, job.key);
        grace = std::max(grace, pod.facts.stop_grace);
        nomination.victims.push_back(pod.facts.uid);
        if (cause == EvictionCause::shrunk) continue;
        state_.evictions.request_eviction(victim.pod, cause, victim.why ? victim.why : why);
        if (has_fault(SeededFault::evict_all_but_one) && &victim == &victims.back()) continue;
        state_.evictions.send_eviction(victim.pod, effects);
    }
    if (cause == EvictionCause::shrunk) state_.elastic.shrink(victims, why, effects);
    nomination.until = state_.session.event_time() +
                       nomination_lasts(std::max(grace, grace_of_terminating(state_, job, round)));
    nomination.pods = static_cast<std::int64_t>(round.size());
    nominated_jobs_.push_back(id);
    for (const Placement& placement : round) {
        if (has_fault(SeededFault::keep_no_nomination)) break;
        state_.bindings.nominate(placement.pod);
        state_.pods.hold(placement.pod, placement.node, placement.device);
    }
    state_.session.set_timer(id);
    state_.jobs.mark_dirty(id);  // its room may be free at once, and its explanation has changed
}

void Nominations::drop_nomination(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        if (pod.bind.state != BindState::nominated) continue;
        state_.pods.release(pod_id);
        state_.bindings.withdraw_nomination(pod_id);
    }
    // Only if the time of the nomination is over is it known that the victims could not go in time.
    // If no victim has gone, none was stopped in vain.
    const bool was_refused_repeatedly =
        job.nomination.until <= state_.session.event_time() && has_victim_gone(state_, job);
    const Duration spared =
        was_refused_repeatedly ? kSparedAfterRefusals : state_.session.policy().backoff_maximum;
    std::vector<JobId> shrunk;
    for (const std::string& uid : job.nomination.victims) {
        const PodId victim = state_.pods.find_pod(uid);
        if (!victim.exists()) continue;
        const PodRow& pod = state_.pods.rows()[victim.value()];
        if (pod.is_surplus) shrunk.push_back(pod.job);
        if (pod.eviction.state == EvictionState::postponed) state_.evictions.spare(victim, spared);
        const bool was_terminating = pod.is_terminating();
        // If an eviction is under way, the watch will show it, or it did not happen.
        state_.evictions.release(victim);
        if (was_terminating && !pod.is_terminating()) state_.pods.note_termination(victim);
        if (!state_.maintenance.calendar().nodes.empty())
            state_.maintenance.request_drain();  // it may still have to be drained
        state_.jobs.mark_dirty(pod.job);
    }
    NominationRow& nomination = state_.jobs.rows().nomination(id, {});
    nomination.until = Instant{};
    nomination.pods = 0;
    nomination.victims.clear();
    nomination.victim_refused = false;
    nomination.eviction_failures = 0;
    nomination.evict_again_at = Instant{};
    std::erase(nominated_jobs_, id);
    for (const JobId of : shrunk) state_.elastic.keep_size(of);
    state_.session.set_timer(id);
}

void Nominations::read_nomination(const JobRow& job, std::vector<Placement>& round) const {
    round.clear();
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        if (pod.bind.state != BindState::nominated) continue;
        const bool forgets = has_fault(SeededFault::nominate_no_device);
        round.push_back({id, pod.node, forgets ? kNoDevice : pod.gpu_device});
    }
}

bool Nominations::is_being_moved(const JobRow& job) const {
    if (state_.pods.maybe_terminating().empty() || job.holding.pods == 0) return false;
    if (!job.seats.empty()) return false;
    return std::all_of(job.pods.begin(), job.pods.end(), [this](PodId id) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        // Nominated pods run nowhere yet.
        if (!pod.node.exists() || pod.bind.state == BindState::nominated) return true;
        return pod.eviction.state != EvictionState::none && pod.is_terminating();
    });
}

// Something has gone or changed on a node: jobs with nominated room there are tried again.
void Nominations::revisit_nominations() {
    if (has_fault(SeededFault::forget_nominations)) return;
    for (const JobId id : nominated_jobs_) state_.jobs.mark_dirty(id);
}

// The victim stays: the nomination for which it was to be evicted is of no use.
void Nominations::disappoint(const PodRow& victim) {
    const JobId preemptor = state_.jobs.find_job(victim.eviction.preemptor);
    if (!preemptor.exists() || !state_.jobs.rows()[preemptor.value()].nomination.exists()) return;
    state_.jobs.rows().nomination(preemptor, {}).victim_refused = true;
    state_.jobs.mark_dirty(preemptor);
}

void Nominations::note_outcome(JobId preemptor, EvictResult result) {
    NominationRow& nomination = state_.jobs.rows().nomination(preemptor, {});
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            nomination.eviction_failures = 0;
            return;
        case EvictResult::refused:
            nomination.victim_refused = true;
            return;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            postpone(preemptor);
            if (result == EvictResult::disruption_budget &&
                is_refused_repeatedly(state_, state_.jobs.rows()[preemptor.value()])) {
                nomination.victim_refused = true;
            }
            return;
    }
}

void Nominations::postpone(JobId id) {
    NominationRow& nomination = state_.jobs.rows().nomination(id, {});
    if (nomination.evict_again_at > state_.session.event_time())
        return;  // one backoff for all victims that were requested together
    ++nomination.eviction_failures;
    nomination.evict_again_at =
        state_.session.event_time() + backoff_after(nomination.eviction_failures,
                                                    state_.session.policy().backoff_initial,
                                                    state_.session.policy().backoff_maximum);
    const Instant last = nomination.until + kAskedLast;
    if (nomination.evict_again_at >= nomination.until && last > state_.session.event_time())
        nomination.evict_again_at = last;
    state_.session.set_timer(id);
}

bool Nominations::take_retry(JobId id) {
    Instant& at = state_.jobs.rows().nomination(id, {}).evict_again_at;
    if (!at.happened() || at > state_.session.event_time()) return false;
    at = Instant{};
    return true;
}

void Nominations::restore_job(JobId id, Key<StateReader>) {
    if (state_.jobs.rows()[id.value()].nomination.exists()) nominated_jobs_.push_back(id);
}

// The jobs for which its ranks were to be removed search for other victims.
void Nominations::withdraw_surplus_ranks(const JobRow& job) {
    for (const PodId id : job.pods) {
        if (state_.pods.rows()[id.value()].is_surplus) disappoint(state_.pods.rows()[id.value()]);
    }
}

}  // namespace gpuctl
