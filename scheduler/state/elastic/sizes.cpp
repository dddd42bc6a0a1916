// Sizes of elastic jobs (ADR 0017): the number of ranks that was decided, the number that was sent
// to the controller, and surplus ranks. plan/elastic decides.

#include <algorithm>
#include <utility>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// After a refused change, no other change of the job's size is requested for this time.
constexpr Duration kRefusedPause = Duration::seconds(3600);

}  // namespace

// The workload is created with the largest number of ranks. They wait, and ranks that find no room
// when the job starts are removed then.
void ElasticJobs::begin_size(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const JobSpec& spec = job.record->spec;
    end_size(id);
    if (spec.kind != JobKind::training || spec.replicas_min >= spec.replicas_max) return;
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    elastic.size = elastic.wanted = spec.replicas_max;
    elastic_jobs_.emplace(job.arrival, id);
    mark_surplus(job);
}

void ElasticJobs::end_size(JobId id) {
    state_.jobs.rows().elastic(id, {}) = {};
    forget_job(id);
}

void ElasticJobs::forget_job(JobId id) {
    elastic_jobs_.erase({state_.jobs.rows()[id.value()].arrival, id});
}

void ElasticJobs::pause_growth(JobId id) {
    state_.jobs.rows().elastic(id, {}).grow_from =
        state_.session.event_time() + state_.session.policy().growth_pause;
}

void ElasticJobs::forget_answer(JobId id) {
    if (std::exchange(state_.jobs.rows().elastic(id, {}).in_flight, false))
        state_.jobs.mark_dirty(id);
}

void ElasticJobs::note_pace(JobId id, Duration done, std::int32_t ranks) {
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    elastic.done = done;
    elastic.paced_ranks = ranks;
    elastic.paced_from = state_.session.event_time();
}

void ElasticJobs::restore_job(JobId id, Key<StateReader>) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    if (has_fault(SeededFault::forget_sizes_on_disk)) elastic = {};
    if (has_fault(SeededFault::forget_what_was_worked)) elastic.done = {};
    if (is_elastic(job)) elastic_jobs_.emplace(job.arrival, id);
}

// The size that the watch shows. It may be behind our own change. Any other size was set by another
// client and is the size now, limited to the range of the job.
void ElasticJobs::note_size(JobId id, std::int64_t replicas) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    const ElasticPhase phase = elastic.phase();
    if (phase == ElasticPhase::rigid || phase == ElasticPhase::in_flight || replicas <= 0) return;
    if (replicas == elastic.size) {
        elastic.before = 0;
        return;
    }
    if (replicas == elastic.before) return;
    const JobSpec& spec = job.record->spec;
    const bool was_settled = elastic.wanted == elastic.size;
    elastic.size = static_cast<std::int32_t>(std::min<std::int64_t>(replicas, kRanksMaximum));
    elastic.before = 0;
    pause_growth(id);
    if (was_settled) {
        elastic.wanted = std::clamp(elastic.size, spec.replicas_min, spec.replicas_max);
    }
    mark_surplus(job);
    state_.jobs.mark_dirty(id);
}

void ElasticJobs::resize(JobId id, std::int32_t ranks, Cause why, EffectList& effects,
                         EvictionCause gives_for) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    if (elastic.wanted == ranks) return;
    if (ranks > elastic.wanted) elastic.given = 0;
    elastic.given_for = gives_for;
    for (const PodId pod : job.pods) {
        const PodRow& row = state_.pods.rows()[pod.value()];
        const bool goes = row.facts.rank >= ranks && row.facts.rank < elastic.wanted;
        if (goes && row.bind.state == BindState::bound) ++elastic.given;
    }
    state_.waiting.leave_queue(id);
    state_.jobs.mark_dirty(id);
    if (ranks > elastic.wanted)
        elastic.give_from = state_.session.event_time() + state_.session.policy().growth_pause;
    elastic.wanted = ranks;
    elastic.why = std::move(why);
    pause_growth(id);
    mark_surplus(job);
    for (const PodId pod : job.pods) {
        if (state_.pods.rows()[pod.value()].is_surplus) state_.pods.note_termination(pod);
    }
    send_resize(id, effects);
    state_.session.set_timer(id);
}

void ElasticJobs::defer_ranks(JobId id, std::int32_t from) {
    std::int32_t& known = state_.jobs.rows().elastic(id, {}).deferred_from;
    if (std::exchange(known, from) == from) return;
    if (from == 0) state_.jobs.mark_dirty(id);  // waiting ranks may be needed now
    state_.session.set_timer(id);
}

// Removes ranks of elastic jobs: all that are named and those after them.
void ElasticJobs::shrink(const std::vector<Victim>& victims, const Cause& why,
                         EffectList& effects) {
    std::map<ObjectKey, std::int32_t> sizes;
    for (const Victim& victim : victims) {
        const PodRow& pod = state_.pods.rows()[victim.pod.value()];
        std::int32_t& size =
            sizes.try_emplace(state_.jobs.rows()[pod.job.value()].key, pod.facts.rank)
                .first->second;
        size = std::min(size, pod.facts.rank);
    }
    for (const auto& [key, size] : sizes) resize(state_.jobs.find_job(key), size, why, effects);
}

// Withdraws a shrink that the controller does not know of yet, because the job that needed the
// ranks no longer does. Ranks whose room is nominated for another job still go.
void ElasticJobs::keep_size(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    if (elastic.phase() == ElasticPhase::in_flight || elastic.wanted >= elastic.size) return;
    elastic.wanted = elastic.size;
    elastic.given = 0;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state_.pods.rows()[pod_id.value()];
        const JobId by = state_.jobs.find_job(pod.eviction.preemptor);
        if (!pod.is_surplus || !by.exists() || !state_.jobs.rows()[by.value()].nomination.exists())
            continue;
        elastic.wanted = std::min(elastic.wanted, pod.facts.rank);
    }
    mark_surplus(job);
    state_.jobs.mark_dirty(id);
}

void ElasticJobs::settle_size(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    if (!is_elastic(job)) return;
    offer_surplus(id);
    if (job.workload.state != WorkloadState::created || Seats::is_paused(job)) return;
    const auto is_any = [&](const auto& what) {
        return std::any_of(job.pods.begin(), job.pods.end(),
                           [&](PodId pod) { return what(state_.pods.rows()[pod.value()]); });
    };
    const bool is_there = is_any([](const PodRow& pod) {
        return pod.node.exists() || pod.facts.phase == PodPhase::succeeded;
    });
    const bool waits = is_any([](const PodRow& pod) {
        return pod.bind.state == BindState::waiting && !pod.facts.terminating;
    });
    if (waits && !is_there) {
        state_.jobs.rows().elastic(id, {}).deferred_from = 0;
        resize(id, job.record->spec.replicas_max, cause::StartsWithAllRanks{}, effects);
    }
    if (!job.elastic.is_paused(state_.session.event_time())) send_resize(id, effects);
}

void ElasticJobs::send_resize(JobId id, EffectList& effects) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    if (elastic.phase() != ElasticPhase::due || !state_.session.leading()) return;
    if (job.workload.state != WorkloadState::created ||
        elastic.is_paused(state_.session.event_time()))
        return;
    elastic.in_flight = true;
    elastic.effect = state_.session.next_effect();
    elastic.sent = elastic.wanted;
    effects.add(ResizeWorkload{elastic.effect, state_.session.epoch(), job.key, job.record->uid,
                               elastic.size, elastic.sent, elastic.why});
}

Instant ElasticJobs::next_size_change(const JobRow& job) {
    const ElasticRow& elastic = job.elastic;
    if (elastic.wanted != elastic.size) return elastic.not_before;
    const bool may_change = elastic.size < job.record->spec.replicas_max || is_paced(job);
    // At its largest size, too: its ranks may be offered to other jobs after the pause.
    return may_change ? std::max(elastic.grow_from, elastic.not_before) : elastic.not_before;
}

void ElasticJobs::mark_surplus(PodId id) {
    const PodRow& pod = state_.pods.rows()[id.value()];
    bool& is_surplus = state_.pods.rows().is_surplus(id, {});
    const bool was_surplus = std::exchange(is_surplus, false);
    if (!pod.job.exists() || is_terminal(pod.facts.phase)) return;
    const JobRow& job = state_.jobs.rows()[pod.job.value()];
    is_surplus = is_elastic(job) && pod.facts.rank >= job.elastic.wanted;
    if (is_surplus && pod.node.exists()) state_.pods.note_surplus(id);
    if (was_surplus && !is_surplus) state_.pods.note_termination(id);  // it stays
}

void ElasticJobs::mark_surplus(const JobRow& job) {
    for (const PodId pod : job.pods) mark_surplus(pod);
}

ElasticRanks ElasticJobs::ranks_of(const JobRow& job) const {
    ElasticRanks out;
    if (!is_elastic(job) || !has_started(job.gang.phase()) ||
        job.workload.state != WorkloadState::created)
        return out;
    out.is_settled = !Seats::is_paused(job);
    out.is_ending = !job.gang.finished.empty();
    for (const PodId id : job.pods) {  // by rank
        out.there = job.gang.finished.first_open(out.there);
        const PodRow& pod = state_.pods.rows()[id.value()];
        if (pod.is_surplus) {
            out.has_surplus = true;
            continue;
        }
        const bool succeeded = pod.facts.phase == PodPhase::succeeded;
        out.is_ending = out.is_ending || succeeded;
        if (pod.bind.state == BindState::done && !succeeded) continue;
        if (pod.bind.state == BindState::waiting) continue;  // a gap shows in the ranks after it
        const bool moves = pod.is_terminating() || pod.bind.delete_in_flight ||
                           pod.eviction.state != EvictionState::none ||
                           pod.bind.state == BindState::assumed ||
                           pod.bind.state == BindState::nominated;
        if (moves || pod.facts.rank != out.there) out.is_settled = false;
        ++out.there;
    }
    return out;
}

// Counts the ranks that other jobs may get. If there are more than before, waiting jobs are tried
// again.
void ElasticJobs::offer_surplus(JobId id) {
    const JobRow& job = state_.jobs.rows()[id.value()];
    const ElasticRanks ranks = ranks_of(job);
    const std::int64_t least = state_.gangs.gang_size(job).value_or(0);
    // its controller carries out changes
    const bool is_heard = !job.elastic.is_paused(state_.session.event_time());
    const bool is_offered = is_heard && ranks.is_settled && !ranks.is_ending && ranks.there > least;
    const auto offered = static_cast<std::int32_t>(is_offered ? ranks.there - least : 0);
    const bool is_more = offered > job.elastic.offered;
    state_.jobs.rows().elastic(id, {}).offered = offered;
    if (!is_more || !job.pool.exists()) return;
    state_.tree.note_victims(job.pool);
    state_.session.note_news();
}

void ElasticJobs::on(const WorkloadResizeOutcome& event, EffectList&) {
    const JobId id = state_.jobs.find_job(event.key);
    if (!id.exists()) return;
    const JobRow& job = state_.jobs.rows()[id.value()];
    ElasticRow& elastic = state_.jobs.rows().elastic(id, {});
    if (elastic.phase() != ElasticPhase::in_flight || elastic.effect != event.effect) return;
    elastic.in_flight = false;
    state_.jobs.mark_dirty(id);
    state_.workloads.note_resize(id, event.message);
    switch (event.result) {
        case ResizeResult::resized:
            elastic.before = std::exchange(elastic.size, elastic.sent);
            elastic.failures = 0;
            state_.evictions.note_shrunk(elastic.given_for, elastic.given);
            break;
        case ResizeResult::other_size:
            elastic.size = std::clamp(event.size, 1, kRanksMaximum);
            elastic.failures = 0;
            break;
        case ResizeResult::gone:  // the watch will show it
            elastic.wanted = elastic.size;
            break;
        case ResizeResult::refused:
            state_.nominations.withdraw_surplus_ranks(job);
            elastic.wanted = elastic.size;
            elastic.not_before = state_.session.event_time() + kRefusedPause;
            break;
        case ResizeResult::failed:
            ++elastic.failures;
            elastic.not_before =
                state_.session.event_time() +
                backoff_after(elastic.failures, state_.session.policy().backoff_initial,
                              state_.session.policy().backoff_maximum);
            break;
    }
    if (event.result != ResizeResult::failed) elastic.given = 0;
    mark_surplus(job);
    state_.session.set_timer(id);
    // Reports of the watch were ignored while the resize was in flight. A size that was read with
    // the answer is newer than they are.
    const bool is_read =
        event.result == ResizeResult::gone || event.result == ResizeResult::other_size;
    elastic.sent = 0;
    if (job.workload.facts && !is_read) note_size(id, job.workload.facts->replicas);
}

}  // namespace gpuctl
