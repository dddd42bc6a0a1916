// Evictions: requested, sent again, answered, given up.

#include <algorithm>
#include <utility>
#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/pods/terminating.hpp"

namespace gpuctl {

Cause Evictions::why_evicted(const JobRow& job, EvictionCause cause) const {
    if (cause == EvictionCause::shrunk) return cause::ShrunkFor{job.key};
    if (cause == EvictionCause::preempted) return cause::HigherPriority{job.key};
    return cause::Reclaimed{state_.tree.queue_path(job.queue), job.key};
}

void Evictions::drain(const std::vector<PodId>& pods, EvictionCause cause, const Cause& why,
                      EffectList& effects) {
    const auto is_new = [this](PodId pod) {
        return state_.pods.rows()[pod.value()].eviction.state == EvictionState::none;
    };
    if (std::any_of(pods.begin(), pods.end(), is_new)) forget_old_moves();
    for (const PodId pod : pods) {
        if (is_new(pod)) request_eviction(pod, cause, why);
        assign(pod, ObjectKey{});
        send_eviction(pod, effects);
    }
}

void Evictions::send_eviction(PodId id, EffectList& effects) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    EvictionRow& eviction = state_.pods.rows().eviction(id, {});
    eviction.state = EvictionState::asked;
    eviction.effect = state_.session.next_effect();
    state_.waiting.leave_queue(
        pod.job);  // the readiness of its job has changed: the next Plan reads it again
    state_.jobs.mark_dirty(pod.job);
    state_.pods.note_termination(id);
    effects.add(EvictPod{pod.eviction.effect,
                         state_.session.epoch(),
                         {pod.facts.key, pod.facts.uid},
                         pod.facts.stop_grace,
                         pod.eviction.request.why,
                         job.key,
                         pod.eviction.preemptor});
}

void Evictions::resend_evictions(EffectId before, EffectList& effects) {
    if (has_fault(SeededFault::forget_unanswered)) return;
    for (const auto& [key, id] : state_.jobs.job_ids()) {
        for (const PodId pod_id : state_.jobs.rows()[id.value()].pods) {
            const PodRow& pod = state_.pods.rows()[pod_id.value()];
            const bool is_open = pod.eviction.state == EvictionState::asked ||
                                 pod.eviction.state == EvictionState::accepted ||
                                 (pod.eviction.state == EvictionState::postponed &&
                                  pod.eviction.preemptor != ObjectKey{});
            if (!is_open || pod.facts.terminating || !(pod.eviction.effect < before)) continue;
            send_eviction(pod_id, effects);
        }
    }
}

void Evictions::evict_postponed(JobId id, EffectList& effects) {
    if (!state_.nominations.take_retry(id)) return;
    for (const std::string& uid : state_.jobs.rows()[id.value()].nomination.victims) {
        const PodId victim = state_.pods.find_pod(uid);
        if (!victim.exists()) continue;
        const PodRow& pod = state_.pods.rows()[victim.value()];
        if (pod.eviction.state == EvictionState::postponed && !pod.facts.terminating) {
            send_eviction(victim, effects);
        }
    }
}

void Evictions::spare(PodId id, Duration length) {
    withdraw_eviction(id);
    state_.pods.rows().eviction(id, {}).spared_until = state_.session.event_time() + length;
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (state_.maintenance.calendar().nodes.contains(pod.node.value()))
        state_.maintenance.note_stop(pod.node, pod);  // then it is evicted
}

void Evictions::on(const PodEvictOutcome& event, EffectList&) {
    const PodId id = state_.pods.find_pod(event.uid);
    if (!id.exists()) return;
    const PodRow& pod = state_.pods.rows()[id.value()];
    if (pod.eviction.effect != event.effect) return;
    const bool goes = event.result == EvictResult::evicted || event.result == EvictResult::gone;
    if (goes) charge_eviction(id);
    if (pod.eviction.state != EvictionState::asked) {  // the nomination was withdrawn meanwhile
        if (!goes) state_.pods.rows().eviction(id, {}).request.is_uncharged = false;
        return;
    }
    state_.pods.set_message(id, event.message);
    state_.jobs.mark_dirty(pod.job);
    const JobId preemptor = state_.jobs.find_job(pod.eviction.preemptor);
    if (pod.eviction.preemptor == ObjectKey{}) {
        settle(id, event.result);
        state_.maintenance.note_drain_outcome(pod, event.result);
    } else if (preemptor.exists()) {
        state_.jobs.mark_dirty(preemptor);
        settle(id, event.result);
        state_.nominations.note_outcome(preemptor, event.result);
    } else {
        spare(id, kSparedFor);  // never: drop_nomination() clears the preemptor
    }
    if (!pod.is_terminating()) state_.pods.note_termination(id);
}

// Applies the answer to a requested eviction.
void Evictions::settle(PodId id, EvictResult result) {
    EvictionState& state = state_.pods.rows().eviction(id, {}).state;
    switch (result) {
        case EvictResult::evicted:
        case EvictResult::gone:
            state = EvictionState::accepted;
            return;
        case EvictResult::refused:
            spare(id, kSparedFor);
            return;
        case EvictResult::disruption_budget:
        case EvictResult::failed:
            state = EvictionState::postponed;
            return;
    }
}

}  // namespace gpuctl
