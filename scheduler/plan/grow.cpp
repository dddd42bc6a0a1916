#include "scheduler/plan/grow.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/state/quota.hpp"

namespace gpuctl {
namespace {

bool anybody_waits(const ClusterState& state, PoolId pool) {
    const auto& queues = state.pool(pool).queues;
    return std::any_of(queues.begin(), queues.end(),
                       [&](QueueId queue) { return !state.book().of_queue(queue).empty(); });
}

bool anybody_leaves(const ClusterState& state, PoolId pool) {
    const NodeSet& nodes = state.capacity().nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        const auto& pods = state.node(NodeId{slot}).pods;
        const bool leaves = std::any_of(pods.begin(), pods.end(),
                                        [&](PodId id) { return state.pod(id).is_leaving(); });
        if (leaves) return true;
    }
    return false;
}

// It waits for what its namespace may hold in all pools, and that is enough for it.
bool waits_for_quota(const ClusterState& state, ClassId id, Readiness& ready) {
    const JobClass& of = state.book().at(id);
    if ((of.block.limits & ClassBlock::kOfTenant) == 0) return false;
    const JobId job = of.jobs.begin()->job;
    state.read_readiness(job, ready);
    if (ready.hold != Reason::none || ready.pods.empty()) return false;
    const auto waits = [&](const Load& ask) {
        bool lacks = false;
        bool is_enough = true;
        visit_limits(state, state.job(job), ask, [&](const LimitHit& hit) {
            lacks = lacks || is_of_all_pools(hit.kind);
            return is_enough = is_enough && hit.needed <= hit.limit;
        });
        return lacks && is_enough;
    };
    if (ready.all_or_nothing) {
        ready.pods.resize(static_cast<std::size_t>(ready.ranks_needed));
        return waits(load_of(state, ready.pods));
    }
    return std::any_of(ready.pods.begin(), ready.pods.end(),
                       [&](PodId pod) { return waits(load_of(state, {pod})); });
}

// Room that will be nobody else's: who leaves does so for no other job.
bool is_room_left(const ClusterState& state, const JobRow& job) {
    std::vector<PodId> leaving;
    state.read_leaving(job.pool, leaving);
    return std::any_of(leaving.begin(), leaving.end(), [&](PodId id) {
        const PodRow& pod = state.pod(id);  // what is given for gain is theirs who gain
        return pod.evicted_for == job.key || (pod.evicted_for == ObjectKey{} && !pod.is_surplus);
    });
}

bool has_deferred(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.pods.begin(), job.pods.end(), [&](PodId id) {
        const PodRow& pod = state.pod(id);
        return pod.standing == PodStanding::waiting && !pod.is_surplus &&
               pod.facts.rank >= job.elastic.deferred_from;
    });
}

}  // namespace

void Grower::run(ClusterState& state, PoolId pool, Reservation& promised, LimitHolds& limits_kept,
                 ShortWork& short_work, EngineFigures& figures, EffectList& effects) {
    if (state.elastic_jobs().empty()) return;
    promised_ = &promised;
    limits_kept_ = &limits_kept;
    short_work_ = &short_work;
    find_jobs(state, pool);
    if (jobs_.empty()) return;
    // What those who leave give, together with what is idle, may be what somebody waits for.
    const bool nobody_waits = !anybody_waits(state, pool);
    const bool may_grow = nobody_waits || !anybody_leaves(state, pool);
    if (may_grow) grow_by_gain(state, pool, nobody_waits, figures, effects);
    if (may_grow) place_further(state, figures, effects);
    take_back_further(state, pool, effects);
    if (may_grow) ask_for_more(state, effects);
}

// Of the namespace somebody waits for what it may hold in all pools, and somebody leaves, in any of
// them: likewise.
bool Grower::is_quota_awaited(const ClusterState& state, TenantId tenant) {
    if (state.pools() == 1 || !state.tenant(tenant).has_quota()) return false;
    const auto [known, is_new] = quota_awaited_.try_emplace(tenant, false);
    if (!is_new) return known->second;
    std::vector<PodId> leaving;
    add_leaving_elsewhere(state, tenant, PoolId::none(), leaving);
    if (leaving.empty()) return false;
    const auto is_of_it = [&](ClassId id) {
        return state.book().at(id).key.tenant == tenant && waits_for_quota(state, id, ready_);
    };
    const auto& pools = state.pools_by_name();
    known->second = std::any_of(pools.begin(), pools.end(), [&](const auto& entry) {
        const auto& queues = state.pool(entry.second).queues;
        return std::any_of(queues.begin(), queues.end(), [&](QueueId queue) {
            const auto& classes = state.book().of_queue(queue);
            return std::any_of(classes.begin(), classes.end(), is_of_it);
        });
    });
    return known->second;
}

void Grower::find_jobs(const ClusterState& state, PoolId pool) {
    jobs_.clear();
    quota_awaited_.clear();
    choosing_.clear();
    choices_.clear();
    for (const auto& [arrival, id] : state.elastic_jobs()) {
        const JobRow& job = state.job(id);
        if (job.pool != pool || !job.queue.exists() || !is_about(job)) continue;
        state.read_readiness(id, ready_);
        Grown grown;
        grown.job = id;
        grown.further = ready_.further;
        grown.extra = job.pods_held - state.gang_size(job).value_or(0);
        const bool is_ending = state.ranks_of(job).is_ending;
        grown.more = is_ending ? 0 : std::ssize(grown.further);
        grown.is_by_gain = !is_ending && chooses_by_gain(state, job);
        jobs_.push_back(std::move(grown));
    }
}

Grower::Grown* Grower::next(const ClusterState& state) {
    Grown* best = nullptr;
    const auto rank = [&state](const Grown& one) {
        const JobRow& job = state.job(one.job);
        return std::tuple{-std::int64_t{job.priority}, one.extra, job.arrival};
    };
    for (Grown& one : jobs_) {
        if (one.is_full || one.more == 0 || one.is_by_gain) continue;
        if (best == nullptr || rank(one) < rank(*best)) best = &one;
    }
    return best;
}

bool Grower::fits(ClusterState& state, const JobRow& job, const Relief* with) {
    if (is_quota_awaited(state, job.tenant)) return false;
    const Load ask = load_of(state, pod_);
    if (job.is_long && short_work_->is_kept() && !short_work_->has_room_for_long(ask.gpus)) {
        return false;
    }
    bool within = true;
    visit_limits(state, job, ask, [&within](const LimitHit&) { return within = false; }, with);
    if (!within && !planted(PlantedBug::grow_past_limits)) return false;
    models_.clear();
    visit_model_limits(
        state, job, ask, [this](const LimitHit& hit) { models_.push_back(hit.model); }, with);
    const JobId id = state.pod(pod_.front()).job;
    const auto heads = limits_kept_->keeps_out(state, id, pod_, state.now(), models_,
                                               LimitHolds::For::growth, with);
    if (heads.is_out) return false;
    placer_.avoid(models_);
    if (state.has_windows()) {
        placer_.keep_outside(state.barred(state.stay_of(job, pod_), state.now()));
    }
    Capacity& capacity = state.capacity_for_planning();
    std::optional<Reservation::Withholding> kept;
    if (promised_->exists() && !promised_->is_over_by_then(state.now(), job.run_time_max)) {
        kept.emplace(*promised_, capacity);
    }
    return placer_.place_all(state, capacity, job.pool, pod_, placed_);
}

// Ranks that exist: they are bound now.
void Grower::place_further(ClusterState& state, EngineFigures& figures, EffectList& effects) {
    while (Grown* one = next(state)) {
        pod_.assign(1, one->further.front());
        one->is_full = !fits(state, state.job(one->job), nullptr);
        if (!one->is_full) place_pods(state, *one, figures, effects);
    }
}

// Of placed_, the first of its further ranks; the next one would leave a gap where that fails.
void Grower::place_pods(ClusterState& state, Grown& one, EngineFigures& figures,
                        EffectList& effects) {
    const JobRow& job = state.job(one.job);
    one.is_full = !state.assume(one.job, placed_, false, effects);
    if (one.is_full) return;
    for (const Placement& placement : placed_) {
        const GpuMilli gpus = state.shapes().at(state.pod(placement.pod).shape).gpus;
        if (job.is_long && short_work_->is_kept()) short_work_->note_placed(gpus);
    }
    if (promised_->exists()) {
        const bool is_over = promised_->is_over_by_then(state.now(), job.run_time_max);
        promised_->note_placed(state, placed_, is_over);
    }
    limits_kept_->note_placed(state, one.job, placed_);
    const auto placed = std::ssize(placed_);
    one.further.erase(one.further.begin(), one.further.begin() + placed);
    one.more -= placed;
    one.extra += placed;
    figures.ranks_grown += static_cast<std::uint64_t>(placed);
}

// Those that found no room go again: a job ends when all ranks that it has have ended.
// Those for which others are giving up theirs just now stay, and those of one that began or grew
// only now while others leave: its room may come in parts. Who waits has its turn before them.
void Grower::take_back_further(ClusterState& state, PoolId pool, EffectList& effects) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const Grown& one = jobs_[i];
        const JobRow& job = state.job(one.job);
        if (one.further.empty()) {
            if (!has_deferred(state, job)) state.defer_ranks(one.job, 0);
            continue;
        }
        const ElasticRanks ranks = state.ranks_of(job);
        const bool is_new = job.elastic.grow_from > state.now() && !ranks.is_ending;
        const bool is_deferred = is_new && is_room_left(state, job);
        std::int32_t kept = ranks.there;
        for (std::size_t c = 0; c < choosing_.size() && is_room_to_come(state, pool); ++c) {
            if (choosing_[c].of == i) kept = std::max(kept, choices_[c].aim);
        }
        const bool waits_on = is_deferred || kept > ranks.there;
        if (waits_on) state.defer_ranks(one.job, state.pod(one.further.front()).facts.rank);
        if (is_deferred || !ranks.is_settled) continue;
        const char* why = one.is_by_gain
                              ? "by more ranks it would gain less than others, or nothing"
                              : "there was no idle room for more ranks";
        state.resize(one.job, kept, why, effects);
    }
}

void Grower::find_growing(const ClusterState& state) {
    for (Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        const ElasticRow& elastic = job.elastic;
        const ElasticRanks ranks = state.ranks_of(job);
        one.more = 0;
        one.is_full = false;
        if (!one.further.empty() || !ranks.is_settled || ranks.is_ending || ranks.has_surplus) {
            continue;
        }
        one.like = job.pods.front();
        for (const PodId pod : job.pods) {
            if (state.pod(pod).standing == PodStanding::bound) one.like = pod;
        }
        if (one.is_by_gain) continue;  // but what it was told to have is its own
        const bool may_grow = elastic.wanted == elastic.size && elastic.wanted == ranks.there &&
                              elastic.grow_from <= state.now() && elastic.not_before <= state.now();
        if (may_grow) one.more = job.record->spec.replicas_max - ranks.there;
    }
}

// More ranks than there are pods: tried where nothing is left of it, then asked for.
void Grower::ask_for_more(ClusterState& state, EffectList& effects) {
    find_growing(state);
    std::vector<std::int64_t> grown(jobs_.size());
    {
        Transaction attempt{state.capacity_for_planning(), log_};
        Relief with;
        const auto lay_out = [&](const Grown& one) {
            const JobRow& job = state.job(one.job);
            pod_.assign(1, one.like);
            if (!fits(state, job, &with)) return false;
            const Placement& spot = placed_.front();
            attempt.take(spot.node.value(), state.shapes().at(state.pod(one.like).shape).needs, 1,
                         spot.device);
            with.add(state, one.like, -1, spot.node);
            return true;
        };
        // What others were told to have and have not yet is theirs.
        for (const Grown& one : jobs_) {
            if (!one.like.exists()) continue;
            const std::int64_t there = state.ranks_of(state.job(one.job)).there;
            for (std::int64_t to_come = state.job(one.job).elastic.wanted - there; to_come > 0;
                 --to_come) {
                if (!lay_out(one)) break;
            }
        }
        while (Grown* one = next(state)) {
            one->is_full = !lay_out(*one);
            if (one->is_full) continue;
            --one->more;
            ++one->extra;
            ++grown[static_cast<std::size_t>(one - jobs_.data())];
        }
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (grown[i] == 0) continue;
        const std::int32_t wanted = state.job(jobs_[i].job).elastic.wanted;
        state.resize(jobs_[i].job, wanted + static_cast<std::int32_t>(grown[i]),
                     "room for more ranks is idle", effects);
    }
}

}  // namespace gpuctl
