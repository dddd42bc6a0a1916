// How many ranks elastic jobs have (ADR 0017): what was decided, what their controllers were told,
// and which ranks are too many. Who decides is plan/grow and plan/shrink.

#include <algorithm>
#include <utility>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/backoff.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// A job whose size could not be changed is left in peace so long.
constexpr Duration kRefusedPause = Duration::seconds(3600);

}  // namespace

// Its workload is made with all the ranks that it may have: they wait, and those that find no room
// when it starts are taken back then.
void ClusterState::begin_size(JobId id) {
    JobRow& job = jobs_[id.value()];
    const JobSpec& spec = job.record->spec;
    job.elastic = {};
    elastic_jobs_.erase({job.arrival, id});
    if (spec.kind != JobKind::training || spec.replicas_min >= spec.replicas_max) return;
    job.elastic.size = job.elastic.wanted = spec.replicas_max;
    elastic_jobs_.emplace(job.arrival, id);
    mark_surplus(job);
}

// What the watch shows. It may be behind our own change; anything else was somebody else's doing
// and is how it is now, as far as the job allows it.
void ClusterState::note_size(JobId id, std::int64_t replicas) {
    JobRow& job = jobs_[id.value()];
    ElasticRow& elastic = job.elastic;
    if (!is_elastic(job) || replicas <= 0 || elastic.in_flight) return;
    if (replicas == elastic.size) {
        elastic.before = 0;
        return;
    }
    if (replicas == elastic.before) return;
    const JobSpec& spec = job.record->spec;
    const bool was_settled = elastic.wanted == elastic.size;
    elastic.size = static_cast<std::int32_t>(std::min<std::int64_t>(replicas, kRanksMaximum));
    elastic.before = 0;
    elastic.grow_from = now_ + policy_.growth_pause;
    if (was_settled) {
        elastic.wanted = std::clamp(elastic.size, spec.replicas_min, spec.replicas_max);
    }
    mark_surplus(job);
    mark_dirty(id);
}

void ClusterState::resize(JobId id, std::int32_t ranks, std::string why, EffectList& effects,
                          EvictionCause gives_for) {
    JobRow& job = jobs_[id.value()];
    ElasticRow& elastic = job.elastic;
    if (elastic.wanted == ranks) return;
    if (ranks > elastic.wanted) elastic.given = 0;
    elastic.given_for = gives_for;
    for (const PodId pod : job.pods) {
        const PodRow& row = pods_[pod.value()];
        const bool goes = row.facts.rank >= ranks && row.facts.rank < elastic.wanted;
        if (goes && row.standing == PodStanding::bound) ++elastic.given;
    }
    leave_queue(id);
    mark_dirty(id);
    if (ranks > elastic.wanted) elastic.give_from = now_ + policy_.growth_pause;
    elastic.wanted = ranks;
    elastic.why = std::move(why);
    elastic.grow_from = now_ + policy_.growth_pause;
    mark_surplus(job);
    for (const PodId pod : job.pods) {
        if (pods_[pod.value()].is_surplus) note_leaving(pod);
    }
    send_resize(id, effects);
    set_timer(id);
}

void ClusterState::defer_ranks(JobId id, std::int32_t from) {
    std::int32_t& known = jobs_[id.value()].elastic.deferred_from;
    if (std::exchange(known, from) == from) return;
    if (from == 0) mark_dirty(id);  // those that wait may be owed now
    set_timer(id);
}

// Ranks of elastic jobs, all that are named and those after them.
void ClusterState::shrink(const std::vector<Victim>& victims, const std::string& why,
                          EffectList& effects) {
    std::map<ObjectKey, std::int32_t> sizes;
    for (const Victim& victim : victims) {
        const PodRow& pod = pods_[victim.pod.value()];
        std::int32_t& size =
            sizes.try_emplace(jobs_[pod.job.value()].key, pod.facts.rank).first->second;
        size = std::min(size, pod.facts.rank);
    }
    for (const auto& [key, size] : sizes) resize(find_job(key), size, why, effects);
}

// Somebody does not need its ranks any more, and its controller was not told yet: it keeps those
// that nobody else claims the room of.
void ClusterState::keep_size(JobId id) {
    JobRow& job = jobs_[id.value()];
    if (job.elastic.in_flight || job.elastic.wanted >= job.elastic.size) return;
    job.elastic.wanted = job.elastic.size;
    job.elastic.given = 0;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = pods_[pod_id.value()];
        const JobId by = find_job(pod.evicted_for);
        if (!pod.is_surplus || !by.exists() || !jobs_[by.value()].claim_until.happened()) continue;
        job.elastic.wanted = std::min(job.elastic.wanted, pod.facts.rank);
    }
    mark_surplus(job);
    mark_dirty(id);
}

void ClusterState::settle_size(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    if (!is_elastic(job)) return;
    offer_surplus(job);
    if (job.workload != WorkloadState::created) return;
    const auto is_any = [&](const auto& what) {
        return std::any_of(job.pods.begin(), job.pods.end(),
                           [&](PodId pod) { return what(pods_[pod.value()]); });
    };
    const bool is_there = is_any([](const PodRow& pod) {
        return pod.node.exists() || pod.facts.phase == PodPhase::succeeded;
    });
    const bool waits = is_any([](const PodRow& pod) {
        return pod.standing == PodStanding::waiting && !pod.facts.terminating;
    });
    if (waits && !is_there) {
        job.elastic.deferred_from = 0;
        resize(id, job.record->spec.replicas_max, "it waits, and may start with all its ranks",
               effects);
    }
    if (job.elastic.not_before <= now_) send_resize(id, effects);
}

void ClusterState::send_resize(JobId id, EffectList& effects) {
    JobRow& job = jobs_[id.value()];
    ElasticRow& elastic = job.elastic;
    // What was never answered may have been carried out: its size is asked for by telling it again.
    const bool is_known = elastic.wanted == elastic.size && elastic.sent == 0;
    if (is_known || elastic.in_flight || !leading_) return;
    if (job.workload != WorkloadState::created || elastic.not_before > now_) return;
    elastic.in_flight = true;
    elastic.effect = next_effect();
    elastic.sent = elastic.wanted;
    effects.add(ResizeWorkload{elastic.effect, epoch_, job.key, job.record->uid, elastic.size,
                               elastic.sent, elastic.why});
}

Instant ClusterState::next_size_change(const JobRow& job) {
    const ElasticRow& elastic = job.elastic;
    if (elastic.wanted != elastic.size) return elastic.not_before;
    const bool may_change = elastic.size < job.record->spec.replicas_max || is_paced(job);
    // At its largest, too: its ranks may go for others once its controller hears again.
    return may_change ? std::max(elastic.grow_from, elastic.not_before) : elastic.not_before;
}

void ClusterState::mark_surplus(PodId id) {
    PodRow& pod = pods_[id.value()];
    const bool was_surplus = std::exchange(pod.is_surplus, false);
    if (!pod.job.exists() || is_terminal(pod.facts.phase)) return;
    const JobRow& job = jobs_[pod.job.value()];
    pod.is_surplus = is_elastic(job) && pod.facts.rank >= job.elastic.wanted;
    if (pod.is_surplus && pod.node.exists()) maybe_leaving_.insert(id);
    if (was_surplus && !pod.is_surplus) note_leaving(id);  // it stays after all
}

void ClusterState::mark_surplus(const JobRow& job) {
    for (const PodId pod : job.pods) mark_surplus(pod);
}

ElasticRanks ClusterState::ranks_of(const JobRow& job) const {
    ElasticRanks out;
    if (!is_elastic(job) || !job.gang_started || job.workload != WorkloadState::created) return out;
    out.is_settled = true;
    out.is_ending = !job.finished.empty();
    for (const PodId id : job.pods) {  // by rank
        out.there = job.finished.first_open(out.there);
        const PodRow& pod = pods_[id.value()];
        if (pod.is_surplus) {
            out.has_surplus = true;
            continue;
        }
        const bool succeeded = pod.facts.phase == PodPhase::succeeded;
        out.is_ending = out.is_ending || succeeded;
        if (pod.standing == PodStanding::done && !succeeded) continue;
        if (pod.standing == PodStanding::waiting) continue;  // a gap shows in the ranks after it
        const bool moves = pod.is_leaving() || pod.delete_in_flight ||
                           pod.eviction != Eviction::none || pod.standing == PodStanding::assumed ||
                           pod.standing == PodStanding::claimed;
        if (moves || pod.facts.rank != out.there) out.is_settled = false;
        ++out.there;
    }
    return out;
}

// Some of its ranks could go for others now that could not before.
void ClusterState::offer_surplus(JobRow& job) {
    const ElasticRanks ranks = ranks_of(job);
    const std::int64_t least = gang_size(job).value_or(0);
    const bool is_heard = job.elastic.not_before <= now_;  // by its controller
    const bool is_offered = is_heard && ranks.is_settled && !ranks.is_ending && ranks.there > least;
    const auto offered = static_cast<std::int32_t>(is_offered ? ranks.there - least : 0);
    const bool is_more = offered > job.elastic.offered;
    job.elastic.offered = offered;
    if (!is_more || !job.pool.exists()) return;
    ++pools_[job.pool.value()].victims;
    idle_ = false;
}

// Those for whom its ranks were to go look for others.
void ClusterState::disappoint_claims(const JobRow& job) {
    for (const PodId id : job.pods) {
        if (pods_[id.value()].is_surplus) disappoint(pods_[id.value()]);
    }
}

void ClusterState::on(const WorkloadResizeOutcome& event, EffectList&) {
    const JobId id = find_job(event.key);
    if (!id.exists()) return;
    JobRow& job = jobs_[id.value()];
    ElasticRow& elastic = job.elastic;
    if (!elastic.in_flight || elastic.effect != event.effect) return;
    elastic.in_flight = false;
    mark_dirty(id);
    job.message = event.message;
    switch (event.result) {
        case ResizeResult::resized:
            elastic.before = std::exchange(elastic.size, elastic.sent);
            elastic.failures = 0;
            outcomes_.add(elastic.given_for, static_cast<std::uint64_t>(elastic.given));
            break;
        case ResizeResult::other_size:
            elastic.size = std::clamp(event.size, 1, kRanksMaximum);
            elastic.failures = 0;
            break;
        case ResizeResult::gone:  // the watch will say so
            elastic.wanted = elastic.size;
            break;
        case ResizeResult::refused:
            disappoint_claims(job);
            elastic.wanted = elastic.size;
            elastic.not_before = now_ + kRefusedPause;
            break;
        case ResizeResult::failed:
            ++elastic.failures;
            elastic.not_before = now_ + backoff_after(elastic.failures, policy_.backoff_initial,
                                                      policy_.backoff_maximum);
            break;
    }
    if (event.result != ResizeResult::failed) elastic.given = 0;
    mark_surplus(job);
    set_timer(id);
    // What the watch showed meanwhile and nobody looked at; what was read just now is newer.
    const bool is_read =
        event.result == ResizeResult::gone || event.result == ResizeResult::other_size;
    elastic.sent = 0;
    if (job.workload_facts && !is_read) note_size(id, job.workload_facts->replicas);
}

}  // namespace gpuctl
