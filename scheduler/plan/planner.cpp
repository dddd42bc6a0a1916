#include "scheduler/plan/planner.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/drain.hpp"
#include "scheduler/plan/explain.hpp"
#include "scheduler/plan/settle_claim.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

void Planner::run(ClusterState& state, EngineFigures& figures, EffectList& effects) {
    ++figures.plans;
    told_.clear();
    has_shifted_ = false;
    has_moved_limits_ = false;
    placer_.keep_outside(std::nullopt);
    room_maker_.open();
    const bool is_new_term = state.resend_due();
    const EffectId first = state.effect_to_come();
    if (is_new_term) state.resend_unanswered(effects);
    for (const JobId job : state.take_dirty()) refresh(state, job, figures, effects);
    if (is_new_term) state.resend_evictions(first, effects);
    state.note_demand();
    const Calendar& calendar = state.calendar();
    if (calendar.clock.drain_due || !calendar.nodes.empty()) {
        has_shifted_ = drain_nodes(state, effects);
        if (has_shifted_) return go_on_later(state);
    }
    std::int64_t attempts_left = std::max<std::int64_t>(state.policy().plan_attempts_max, 1);
    for (const auto& [name, pool] : state.pools_by_name()) {
        if (!serve(state, pool, attempts_left, figures, effects)) return go_on_later(state);
    }
    // When everybody was tried, in all pools: what a namespace may hold is the same everywhere.
    // Those whom this Plan itself changed are tried in the next: one whom a claim left alone, for
    // instance.
    const bool was_everybody_tried = !state.has_dirty();
    const std::uint64_t grown = figures.ranks_grown;
    for (const auto& [name, pool] : state.pools_by_name()) {
        if (state.elastic_jobs().empty() || !was_everybody_tried) break;
        grow(state, pool, figures, effects);
    }
    // Some were told before another pool was served.
    if (state.pools() > 1 || figures.ranks_grown != grown) tell_heads_anew(state);
    state.set_unfinished(false);
    // Ranks that grew are held now, and nobody had waited for them.
    const bool has_news = !state.with_new_demand().empty() || has_moved_limits_;
    state.set_idle(!has_news || planted(PlantedBug::forget_new_demand));
}

void Planner::go_on_later(ClusterState& state) {
    state.set_unfinished(true);
    state.set_idle(planted(PlantedBug::idle_when_out_of_tries));
}

void Planner::grow(ClusterState& state, PoolId pool, EngineFigures& figures, EffectList& effects) {
    const auto& elastic = state.elastic_jobs();
    const bool is_any_here = std::any_of(elastic.begin(), elastic.end(), [&](const auto& one) {
        return state.job(one.second).pool == pool && Grower::is_about(state.job(one.second));
    });
    if (!is_any_here) return;
    short_work_.open(state, pool);
    note_heads(state, pool);
    grower_.run(state, pool, reservations_[pool.value()], limit_holds_, short_work_, figures,
                effects);
}

bool Planner::serve(ClusterState& state, PoolId pool, std::int64_t& attempts_left,
                    EngineFigures& figures, EffectList& effects) {
    const PoolRow& row = state.pool(pool);
    // Where long work is stopped for short, whoever goes first has others stopped instead.
    line_.may_promise = line_.keeps_limits = keeps_limits(row);
    line_.heads = {};
    line_.leavers = {};
    line_.passed.clear();
    limit_holds_.clear();
    claim_longest_ = {};
    if (reservations_.size() < state.pools()) reservations_.resize(state.pools());
    pool_ = pool;
    reservation().clear();
    short_work_.open(state, pool);
    const bool keeps = state.is_unfinished() && !planted(PlantedBug::promise_past_the_untried);
    note_heads_elsewhere(state);
    if (keeps && line_.may_promise) keep_promise(state, pool, figures);
    if (planted(PlantedBug::grow_before_others)) grow(state, pool, figures, effects);
    for (;;) {
        const ClassId chosen = next_class(state, pool, line_);
        if (!chosen.exists()) {
            // Nobody is first in line any more: those held back by an old promise may go.
            const bool is_stale = !reservation().exists() && state.pool(pool).promise.job.exists();
            if (is_stale) state.promise(pool, {});
            if (!limit_holds_.tell(state, pool) && !is_stale) return true;
            continue;
        }
        const JobClass& of = state.book().at(chosen);
        const bool is_refused_room = state.is_blocked(of) && !of.block.is_limited &&
                                     (of.block.watch & ClassBlock::kPromise) == 0;
        // One that a limit has come before since then is tried once more, to be told so.
        if (note_head(state, chosen)) continue;
        if (is_refused_room && make_promise(state, pool, chosen, figures)) continue;
        if (look_for_heads(state, chosen)) continue;
        if (attempts_left-- == 0) return false;
        attempt(state, chosen, figures, effects);
        line_.heads.forget_tried();
        if (has_shifted_) return false;
    }
}

void Planner::refresh(ClusterState& state, JobId job, EngineFigures& figures, EffectList& effects) {
    if (state.job(job).claim_until.happened()) settle_claim(state, job, effects);
    state.refresh(job, ready_, effects);
    if (!ready_.waits) return;
    if (ready_.hold != Reason::none) {
        if (ready_.hold == Reason::turn) return;  // under way, nothing to tell
        ++figures.refusals[static_cast<std::size_t>(ready_.hold)];
        state.report_pending(job, blockers(state, job, ready_).front(), effects);
        return;
    }
    // It joined a class that is refused already: it will not be tried, so it is told now.
    const JobClass& joined = state.book().at(state.job(job).waits_in);
    if (joined.jobs.size() > 1 && state.is_blocked(joined)) {
        state.report_pending(job, explanation_of(state, job), effects);
    }
}

void Planner::attempt(ClusterState& state, ClassId chosen, EngineFigures& figures,
                      EffectList& effects) {
    ++figures.attempts;
    const auto& equals = state.book().at(chosen).jobs;
    const JobId job =
        planted(PlantedBug::last_of_its_class) ? equals.rbegin()->job : equals.begin()->job;
    state.read_readiness(job, ready_);
    // What this Plan decided of others may have changed it: a claim that fell left it its ranks.
    if (ready_.pods.empty()) return refresh(state, job, figures, effects);
    watch_ = 0;
    behind_ = {};
    over_budget_.clear();
    keep_outside_windows(state, job);
    is_long_ = short_work_.is_kept() && short_work_.is_long(state, chosen, line_.scores);
    is_held_back_ = is_behind_promise(state, job, state.now());
    const bool placed = ready_.all_or_nothing ? place_gang(state, job, figures, effects)
                                              : place_one_by_one(state, job, figures, effects);
    if (!placed && make_room(state, job, effects)) {
        limit_holds_.note_claimed();
        note_limits_moved(state, job);
        has_shifted_ = std::any_of(
            room_maker_.victims().begin(), room_maker_.victims().end(),
            [&](const Victim& one) { return loses_its_turn(state, state.pod(one.pod).job); });
        return;
    }
    if (!placed) return refuse(state, chosen, job, figures, effects);
    if (ready_.pods.size() > round_.size()) refresh(state, job, figures, effects);
}

namespace {

// What must move before a limit of this kind may let more through.
std::uint16_t watched_for(LimitKind kind) {
    switch (kind) {
        case LimitKind::none:
            return 0;
        case LimitKind::queue_maximum:
        case LimitKind::queue_borrowing:
        case LimitKind::queue_lending:
        case LimitKind::queue_jobs:
        case LimitKind::queue_gpus_per_job:
        case LimitKind::queue_model_maximum:
        case LimitKind::queue_budget:
            return ClassBlock::kQueueShrinks;
        case LimitKind::pool_reserve:
        case LimitKind::pool_lending:  // a queue of it holds less, or a node came
        case LimitKind::pool_model_lending:
            return ClassBlock::kPoolLending;
        case LimitKind::tenant_gpus:
        case LimitKind::tenant_cpu:
        case LimitKind::tenant_memory:
        case LimitKind::tenant_pool_gpus:
        case LimitKind::tenant_budget:
            return ClassBlock::kTenantShrinks;
    }
    return 0;
}

}  // namespace

bool Planner::is_within_limits(const ClusterState& state, const JobRow& job,
                               const std::vector<PodId>& pods) {
    const Load ask = load_of(state, pods);
    if (is_long_ && short_work_.keeps_out(state, job, ask.gpus)) {
        watch_ |= ClassBlock::kShortWork;
        return false;
    }
    models_.clear();
    models_beside_ = 0;
    visit_model_limits(state, job, ask, [this](const LimitHit& hit) {
        models_.push_back(hit.model);
        if (hit.leaves_others) ++models_beside_;
        watch_ |= watched_for(hit.kind);
    });
    const LimitHit hit = state.limit_hit(job, ask);
    const bool is_within = hit.kind == LimitKind::none && is_beside_heads(state, pods, state.now());
    placer_.avoid(models_);
    if (hit.kind == LimitKind::none) return is_within;
    watch_ |= watched_for(hit.kind);
    if (is_budget(hit.kind)) over_budget_.push_back(hit);
    return false;
}

void Planner::keep_outside_windows(const ClusterState& state, JobId job) {
    is_barred_ = false;
    if (!state.has_windows()) return;
    const WindowSet windows = state.barred(state.stay_of(state.job(job), ready_.pods), state.now());
    is_barred_ = (windows & ~state.calendar().closed) != 0;
    placer_.keep_outside(is_barred_ ? std::optional{windows} : std::nullopt);
}

bool Planner::is_limited(const ClusterState& state, const JobRow& job) {
    pods_ = ready_.pods;
    pods_.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    return !is_within_limits(state, job, pods_) || models_.size() > models_beside_;
}

// What a job watches that found no room: whether that was looked for or known makes no difference.
void Planner::watch_room() {
    watch_ |= ClassBlock::kPoolGains;
    if (is_held_back_) watch_ |= ClassBlock::kPromise;
}

bool Planner::find_room(ClusterState& state, PoolId pool) {
    Capacity& capacity = state.capacity_for_planning();
    if (!is_held_back_) return placer_.place_all(state, capacity, pool, pods_, round_);
    const Reservation::Withholding kept{reservation(), capacity};
    return placer_.place_all(state, capacity, pool, pods_, round_);
}

bool Planner::assume(ClusterState& state, JobId id, bool all_or_nothing, EffectList& effects) {
    if (!state.assume(id, round_, all_or_nothing, effects)) return false;
    if (short_work_.is_kept()) {
        state.note_long(id, is_long_);
        for (const Placement& placement : round_) {
            const ShapeId shape = state.pod(placement.pod).shape;
            if (is_long_) short_work_.note_placed(state.shapes().at(shape).gpus);
        }
    }
    if (reservation().exists()) reservation().note_placed(state, round_, !is_held_back_);
    limit_holds_.note_placed(state, id, round_);
    note_limits_moved(state, id);
    return true;
}

bool Planner::place_one_by_one(ClusterState& state, JobId id, EngineFigures& figures,
                               EffectList& effects) {
    std::size_t placed = 0;
    const bool has_competition = state.book().jobs_waiting() > 1;
    for (const PodId pod : ready_.pods) {
        const JobRow& job = state.job(id);
        const ShapeId shape = state.pod(pod).shape;
        pods_.assign(1, pod);
        if (!is_within_limits(state, job, pods_)) continue;
        const bool is_general = asks_the_same(state, job, shape);
        if (is_general && is_refused(state, job.pool, shape, 1)) {
            ++figures.skipped_by_negative_cache;
            watch_room();
            continue;
        }
        if (!find_room(state, job.pool)) {
            if (is_general && !is_held_back_) note_refused(state, job.pool, shape, 1);
            watch_room();
            continue;
        }
        if (assume(state, id, false, effects)) {
            ++placed;
            ++figures.placements;
            // One pod a turn while others wait: what it holds now decides whose turn is next.
            if (has_competition) break;
        } else {
            watch_room();
        }
    }
    round_.resize(placed > 0 ? 1 : 0);
    if (placed == ready_.pods.size()) ready_.pods.resize(round_.size());  // nothing is left
    return placed > 0;
}

bool Planner::place_gang(ClusterState& state, JobId id, EngineFigures& figures,
                         EffectList& effects) {
    const JobRow& job = state.job(id);
    const auto needed = static_cast<std::size_t>(ready_.ranks_needed);
    pods_ = ready_.pods;
    if (ClusterState::is_elastic(job)) pods_.resize(needed);  // more when all others were tried
    // All that are there, else the fewest that make the gang.
    for (;;) {
        const ShapeId shape = state.pod(pods_.front()).shape;
        const bool uniform = std::all_of(pods_.begin(), pods_.end(),
                                         [&](PodId pod) { return state.pod(pod).shape == shape; });
        const auto ranks = static_cast<std::int64_t>(pods_.size());
        if (!is_within_limits(state, job, pods_)) {
            // a smaller round may still be allowed
        } else if (uniform && asks_the_same(state, job, shape) &&
                   is_refused(state, job.pool, shape, ranks)) {
            ++figures.skipped_by_negative_cache;
            watch_room();
        } else if (!find_room(state, job.pool)) {
            if (uniform && asks_the_same(state, job, shape) && !is_held_back_) {
                note_refused(state, job.pool, shape, ranks);
            }
            watch_room();
        } else if (assume(state, id, true, effects)) {
            figures.placements += round_.size();
            return true;
        } else {
            watch_room();
        }
        if (pods_.size() <= needed) return false;
        pods_.resize(needed);
    }
}

bool Planner::is_behind_promise(const ClusterState& state, JobId job, Instant start) {
    return reservation().exists() && reservation().promise().job != job &&
           !reservation().is_over_by_then(start, state.job(job).run_time_max);
}

// Of a job for which others are stopped; looked for only where it makes a difference.
Instant Planner::latest_start(const ClusterState& state, JobId job) {
    const bool is_behind = reservation().exists() || !limit_holds_.empty();
    if (!is_behind || state.job(job).run_time_max <= Duration{}) return state.now();
    const JobRow& row = state.job(job);
    const std::uint64_t changes = state.pool(pool_).changes;
    const bool has_quota = state.pools() > 1 && state.tenant(row.tenant).has_quota();
    const TenantId tenant = has_quota ? row.tenant : TenantId::none();
    if (claim_longest_.changes != changes || claim_longest_.tenant != tenant) {
        claim_longest_ = {changes, tenant, longest_claim(state, row)};
    }
    return state.now() + claim_longest_.length;
}

// Last resort: others are stopped for it.
bool Planner::make_room(ClusterState& state, JobId id, EffectList& effects) {
    if (ready_.pods.empty()) return false;
    pods_ = ready_.pods;
    pods_.resize(ready_.all_or_nothing ? static_cast<std::size_t>(ready_.ranks_needed) : 1);
    const Load ask = load_of(state, pods_);
    if (!room_maker_.may_try(state, id, pods_, ask, watch_)) return false;
    // Each that is hit: victims may lift one and leave the next. What was used of a budget comes
    // back by nobody's going.
    bool has_time = true;
    visit_limits(state, state.job(id), ask, [&](const LimitHit& hit) {
        watch_ |= watched_for(hit.kind);
        if (!is_budget(hit.kind)) return true;
        over_budget_.push_back(hit);
        has_time = false;
        return true;
    });
    if (!has_time) return false;
    // What comes after the first in line takes no room that others leave where that is to start,
    // and begins only when they have left.
    const Instant start = latest_start(state, id);
    is_held_back_ = is_held_back_ || is_behind_promise(state, id, start);
    if (is_held_back_) watch_ |= ClassBlock::kPromise;
    models_.clear();
    if (!is_beside_heads(state, pods_, start)) return false;
    if (is_long_ && short_work_.keeps_out(state, state.job(id), ask.gpus)) return false;
    placer_.keep_off(models_);
    Reservation* const beside = is_held_back_ ? &reservation() : nullptr;
    const bool is_made = room_maker_.make(state, id, pods_, ask, beside, effects);
    placer_.keep_off({});
    if (is_made && reservation().exists()) {
        reservation().note_placed(state, room_maker_.round(), !is_held_back_);
    }
    return is_made;
}

// The whole class rests until what it lacks may have come. Users are told: the one that was tried
// whenever the story changes, those behind it when the reason does.
void Planner::refuse(ClusterState& state, ClassId chosen, JobId job, EngineFigures& figures,
                     EffectList& effects) {
    const Reason before = state.book().at(chosen).block.reason;
    if (planted(PlantedBug::watch_the_wrong_counter)) watch_ = ClassBlock::kQueueShrinks;
    const bool is_limit = is_limited(state, state.job(job));
    for (const LimitHit& hit : over_budget_) {
        state.budgets_for_planning().await(state.job(job), hit, state.now());
    }
    ClassBlock block;  // what it watches is part of the story
    block.reason = before;
    block.watch = watch_;
    block.is_limited = is_limit;
    block.limits = is_limit ? limits_hit(state, state.job(job)) : 0;
    if (behind_.job.exists()) {
        if (is_limit || models_beside_ > 0) block.behind = behind_.job;
        state.keep_limits(pool_, behind_);
    }
    state.block(chosen, block);
    const Explanation& story = explanation_of(state, job);
    ++figures.refusals[static_cast<std::size_t>(story.reason)];
    block.reason = story.reason;
    state.block(chosen, block);
    state.report_pending(job, story, effects);
    if (before == story.reason) return;
    for (const WaitingJob& other : state.book().at(chosen).jobs) {
        if (other.job != job) state.report_pending(other.job, story, effects);
    }
}

const Explanation& Planner::explanation_of(const ClusterState& state, JobId id) {
    const JobRow& job = state.job(id);
    Told& told = told_[{job.pool, state.book().at(job.waits_in).key}];
    const std::uint64_t changes = state.pool(job.pool).changes;
    if (told.changes != changes) {
        told.changes = changes;
        told.explanation = blockers(state, id, ready_, &placer_.eligibility()).front();
    }
    return told.explanation;
}

// As every job with pods of this shape: no model is barred to it, and no pods of its own tell where
// the next may go.
bool Planner::asks_the_same(const ClusterState& state, const JobRow& job, ShapeId shape) const {
    const PlacementRules& rules =
        state.shapes().constraint(state.shapes().at(shape).constraint).rules;
    return models_.empty() && !is_barred_ &&
           (job.pods_held == 0 || !(rules.topology.any() || rules.takes_several_models()));
}

Planner::Refused& Planner::refused(const ClusterState& state, PoolId pool, ShapeId shape) {
    if (refused_.size() < state.pools()) refused_.resize(state.pools());
    std::vector<Refused>& of_pool = refused_[pool.value()];
    if (of_pool.size() <= shape.value()) of_pool.resize(state.shapes().size());
    return of_pool[shape.value()];
}

bool Planner::is_refused(const ClusterState& state, PoolId pool, ShapeId shape,
                         std::int64_t ranks) {
    const Refused& known = refused(state, pool, shape);
    return known.shape_serial == state.shapes().at(shape).serial &&
           (known.gains == state.pool(pool).gains || planted(PlantedBug::refuse_for_ever)) &&
           (ranks >= known.ranks || planted(PlantedBug::refuse_smaller_gangs));
}

void Planner::note_refused(const ClusterState& state, PoolId pool, ShapeId shape,
                           std::int64_t ranks) {
    Refused& known = refused(state, pool, shape);
    known = {state.shapes().at(shape).serial, state.pool(pool).gains, ranks};
}

}  // namespace gpuctl
