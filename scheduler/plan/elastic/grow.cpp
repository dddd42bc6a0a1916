#include "scheduler/plan/elastic/grow.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/backfill/limited.hpp"
#include "scheduler/state/accounts/quota.hpp"

namespace gpuctl {
namespace {

bool has_waiting_jobs(const ClusterState& state, PoolId pool) {
    const auto& queues = state.pool(pool).queues;
    return std::any_of(queues.begin(), queues.end(), [&](QueueId queue) {
        return !state.waiting.book().of_queue(queue).empty();
    });
}

bool has_terminating_pods(const ClusterState& state, PoolId pool) {
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(pool)) {
        const auto& pods = state.node(NodeId{slot}).pods;
        const bool leaves = std::any_of(pods.begin(), pods.end(),
                                        [&](PodId id) { return state.pod(id).is_terminating(); });
        if (leaves) return true;
    }
    return false;
}

// True if the job waits for the quota of its namespace over all pools, and that quota would be
// sufficient for it.
bool waits_for_quota(const ClusterState& state, ClassId id, Readiness& ready) {
    const JobClass& of = state.waiting.book().at(id);
    if ((of.block.limits & ClassBlock::kOfTenant) == 0) return false;
    const JobId job = of.jobs.begin()->job;
    state.waiting.read_readiness(job, ready);
    if (!ready.can_be_tried()) return false;
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

// True if pods are terminating whose room is not nominated for another job.
bool is_room_left(const ClusterState& state, const JobRow& job) {
    std::vector<PodId> terminating_pods;
    state.pods.read_terminating(job.pool, terminating_pods);
    return std::any_of(terminating_pods.begin(), terminating_pods.end(), [&](PodId id) {
        const PodRow& pod = state.pod(id);  // its room belongs to the jobs that gain from its end
        return pod.eviction.preemptor == job.key ||
               (pod.eviction.preemptor == ObjectKey{} && !pod.is_surplus);
    });
}

bool has_deferred(const ClusterState& state, const JobRow& job) {
    return std::any_of(job.pods.begin(), job.pods.end(), [&](PodId id) {
        const PodRow& pod = state.pod(id);
        return pod.bind.state == BindState::waiting && !pod.is_surplus &&
               pod.facts.rank >= job.elastic.deferred_from;
    });
}

}  // namespace

std::int64_t Grower::run(Commit& commit, PoolTurn& turn) {
    const ClusterState& state = commit.state();
    const PoolId pool = turn.pool;
    if (state.elastic.elastic_jobs().empty()) return 0;
    find_jobs(state, pool);
    if (jobs_.empty()) return 0;
    // While a job waits, the release of terminating pods together with idle capacity may be what it
    // waits for.
    const bool no_job_waits = !has_waiting_jobs(state, pool);
    const bool may_grow = no_job_waits || !has_terminating_pods(state, pool);
    std::int64_t placed = 0;
    if (may_grow) placed += grow_by_speedup(commit, turn, no_job_waits);
    if (may_grow) placed += place_further(commit, turn);
    delete_ranks_without_room(commit, pool);
    if (may_grow) ask_for_more(commit, turn);
    return placed;
}

// True if a job waits for the quota of the namespace over all pools, while a pod of the namespace
// is terminating in any of them: what the pod releases may be what the job waits for.
bool Grower::is_quota_awaited(const ClusterState& state, TenantId tenant) {
    if (state.tree.pools() == 1 || !state.tenant(tenant).has_quota()) return false;
    const auto [known, is_new] = quota_awaited_.try_emplace(tenant, false);
    if (!is_new) return known->second;
    std::vector<PodId> terminating_pods;
    add_terminating_of_other_pools(state, tenant, PoolId::none(), terminating_pods);
    if (terminating_pods.empty()) return false;
    const auto is_of_it = [&](ClassId id) {
        return state.waiting.book().at(id).key.tenant == tenant &&
               waits_for_quota(state, id, ready_);
    };
    const auto& pools = state.tree.pools_by_name();
    known->second = std::any_of(pools.begin(), pools.end(), [&](const auto& entry) {
        const auto& queues = state.pool(entry.second).queues;
        return std::any_of(queues.begin(), queues.end(), [&](QueueId queue) {
            const auto& classes = state.waiting.book().of_queue(queue);
            return std::any_of(classes.begin(), classes.end(), is_of_it);
        });
    });
    return known->second;
}

void Grower::find_jobs(const ClusterState& state, PoolId pool) {
    jobs_.clear();
    quota_awaited_.clear();
    choices_.clear();
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& job = state.job(id);
        if (job.pool != pool || !job.queue.exists() || !is_about(job)) continue;
        state.waiting.read_readiness(id, ready_);
        Grown grown;
        grown.job = id;
        grown.further = ready_.further;
        grown.extra = job.holding.pods - state.gangs.gang_size(job).value_or(0);
        const bool is_ending = state.elastic.ranks_of(job).is_ending;
        grown.more = is_ending ? 0 : std::ssize(grown.further);
        grown.is_by_speedup = !is_ending && is_sized_by_speedup(state, job);
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
        if (one.is_full || one.more == 0 || one.is_by_speedup) continue;
        if (best == nullptr || rank(one) < rank(*best)) best = &one;
    }
    return best;
}

bool Grower::fits(const Overlay& overlay, PoolTurn& turn, const JobRow& job,
                  const ReleasedUsage* with) {
    const ClusterState& state = overlay.state;
    if (is_quota_awaited(state, job.tenant)) return false;
    const Load ask = load_of(state, pod_);
    if (job.run.is_long && turn.short_work.is_reserved() &&
        !turn.short_work.has_room_for_long(ask.gpus)) {
        return false;
    }
    const bool within = is_within_limits(state, job, ask, with);
    if (!within && !has_fault(SeededFault::grow_past_limits)) return false;
    models_.clear();
    add_barred_models(state, job, ask, with, models_);
    const JobId id = state.pod(pod_.front()).job;
    const auto heads = turn.quota.find_head_in_way(state, id, pod_, state.now(), models_,
                                                   QuotaReservations::For::growth, with);
    if (heads.is_out) return false;
    placer_.avoid(models_);
    if (state.maintenance.has_windows()) {
        placer_.keep_outside(
            state.maintenance.barred(state.maintenance.stay_of(job, pod_), state.now()));
    }
    std::optional<Withholding> kept;
    if (turn.reservation->exists() &&
        !turn.reservation->is_over_by_then(state.now(), job.run.time_max)) {
        kept.emplace(overlay.capacity, turn.reservation->reserved_amounts(overlay.capacity.read()));
    }
    return placer_.place_all(state, overlay.capacity, job.pool, pod_, placed_);
}

// Places extra ranks that exist already: they are bound now.
std::int64_t Grower::place_further(Commit& commit, PoolTurn& turn) {
    const ClusterState& state = commit.state();
    std::int64_t placed = 0;
    while (Grown* one = next(state)) {
        pod_.assign(1, one->further.front());
        one->is_full = !fits(commit.overlay(), turn, state.job(one->job), nullptr);
        if (!one->is_full) placed += place_pods(commit, turn, *one, placed_);
    }
    return placed;
}

// If a placement fails the job is full, so that no gap is left before later ranks.
std::int64_t Grower::place_pods(Commit& commit, PoolTurn& turn, Grown& one,
                                const std::vector<Placement>& placed) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(one.job);
    one.is_full = !commit.place(one.job, placed, false, CyclePlan::PlacedFor::growth);
    if (one.is_full) return 0;
    for (const Placement& placement : placed) {
        const GpuMilli gpus = state.shape_of(placement.pod).gpus;
        if (job.run.is_long && turn.short_work.is_reserved()) turn.short_work.note_placed(gpus);
    }
    if (turn.reservation->exists()) {
        const bool is_over = turn.reservation->is_over_by_then(state.now(), job.run.time_max);
        turn.reservation->note_placed(state, placed, is_over);
    }
    turn.quota.note_placed(state, one.job, placed);
    const auto ranks = std::ssize(placed);
    one.further.erase(one.further.begin(), one.further.begin() + ranks);
    one.more -= ranks;
    one.extra += ranks;
    return ranks;
}

// Extra ranks without room are deleted, because a job ends only when all of its ranks have ended.
// There are two exceptions: ranks whose room other pods are releasing now, and ranks of a job that
// just began or grew while pods are terminating, since its room may become free in parts. Waiting
// jobs are served first.
void Grower::delete_ranks_without_room(Commit& commit, PoolId pool) {
    const ClusterState& state = commit.state();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const Grown& one = jobs_[i];
        const JobRow& job = state.job(one.job);
        if (one.further.empty()) {
            if (!has_deferred(state, job)) commit.defer_growth(one.job, 0);
            continue;
        }
        const ElasticRanks ranks = state.elastic.ranks_of(job);
        const bool is_new = job.elastic.grow_from > state.now() && !ranks.is_ending;
        const bool is_deferred = is_new && is_room_left(state, job);
        std::int32_t kept = ranks.there;
        for (const SizeChoice& choice : choices_) {
            if (choice.of == i && is_room_to_come(state, pool)) kept = std::max(kept, choice.aim);
        }
        const bool waits_on = is_deferred || kept > ranks.there;
        if (waits_on) commit.defer_growth(one.job, state.pod(one.further.front()).facts.rank);
        if (is_deferred || !ranks.is_settled) continue;
        const Cause why =
            one.is_by_speedup ? Cause{cause::GainsLess{}} : Cause{cause::NoIdleRoom{}};
        commit.resize(one.job, kept, why);
    }
}

PodId Grower::rank_like(const ClusterState& state, const JobRow& job) {
    PodId like = job.pods.front();
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        if (pod.bind.state == BindState::bound && !pod.is_surplus) like = id;
    }
    return like;
}

void Grower::find_growing(const ClusterState& state) {
    for (Grown& one : jobs_) {
        const JobRow& job = state.job(one.job);
        const ElasticRow& elastic = job.elastic;
        const ElasticRanks ranks = state.elastic.ranks_of(job);
        one.more = 0;
        one.is_full = false;
        one.like = PodId::none();
        if (!one.further.empty() || !ranks.is_settled || ranks.is_ending || ranks.has_surplus) {
            continue;
        }
        one.like = rank_like(state, job);
        if (one.is_by_speedup) continue;  // choose_sizes() has decided its size
        const bool may_grow = elastic.wanted == elastic.size && elastic.wanted == ranks.there &&
                              elastic.grow_from <= state.now() && !elastic.is_paused(state.now());
        if (may_grow) one.more = job.record->spec.replicas_max - ranks.there;
    }
}

bool Grower::Trial::place(JobId job, PodId like, std::int64_t ranks) {
    const ClusterState& state = overlay_.state;
    grower_.pod_.assign(static_cast<std::size_t>(ranks), like);
    if (!grower_.fits(overlay_, turn_, state.job(job), &with_)) return false;
    for (const Placement& spot : grower_.placed_) {
        attempt_.occupy(spot.node.value(), state.shape_of(like).needs, 1, spot.device);
        with_.add(state, like, -1, spot.node);
    }
    return true;
}

void Grower::Trial::place_ordered(JobId id, PodId like) {
    const JobRow& job = overlay_.state.job(id);
    std::int64_t to_come = job.elastic.wanted - overlay_.state.elastic.ranks_of(job).there;
    while (to_come > 0 && place(id, like, 1)) --to_come;
}

void Grower::Trial::lift(PodId id) {
    const PodRow& pod = overlay_.state.pod(id);
    attempt_.occupy(pod.node.value(), overlay_.state.shape_of(pod).needs, -1, pod.gpu_device);
    with_.add(overlay_.state, id, 1);
}

// Grows jobs beyond the pods that they have: further ranks are tried on the room that is left, then
// requested.
void Grower::ask_for_more(Commit& commit, PoolTurn& turn) {
    const ClusterState& state = commit.state();
    find_growing(state);
    {
        const Overlay overlay = commit.overlay();
        Trial trial{*this, overlay, turn};
        for (const Grown& one : jobs_) {
            if (one.like.exists()) trial.place_ordered(one.job, one.like);
        }
        while (Grown* one = next(state)) {
            one->is_full = !trial.place(one->job, one->like, 1);
            if (one->is_full) continue;
            --one->more;
            ++one->extra;
            ++one->asked;
        }
    }
    for (const Grown& one : jobs_) {
        if (one.asked == 0) continue;
        const std::int32_t wanted = state.job(one.job).elastic.wanted + one.asked;
        commit.resize(one.job, wanted, cause::RoomIsIdle{});
    }
}

}  // namespace gpuctl
