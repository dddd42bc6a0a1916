#include "scheduler/plan/cycle/job_starter.hpp"

#include <algorithm>
#include <optional>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/allocate/windows_ahead.hpp"
#include "scheduler/plan/cycle/settle_nomination.hpp"
#include "scheduler/plan/explain/explain.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {
namespace {

// The change that may make the limit let more through.
std::uint16_t watched_for(const LimitHit& hit) {
    switch (limit_row(hit.kind).scope) {
        case LimitScope::queue:
        case LimitScope::queue_model:
            return ClassBlock::kQueueShrinks;
        case LimitScope::pool:  // one of its queues holds less, or a node was added
        case LimitScope::pool_model:
            return ClassBlock::kPoolLending;
        case LimitScope::tenant:
            return ClassBlock::kTenantShrinks;
    }
    return 0;
}

// Sets what a job without room watches. This is the same whether the placer ran or a cached refusal
// was used.
void watch_room(Attempt& attempt) {
    attempt.watch |= ClassBlock::kPoolGains;
    if (attempt.avoids_reservation) attempt.watch |= ClassBlock::kHeadReservation;
}

// True if the attempt asks the same as any job with pods of this shape: no model is barred for it,
// and its running pods do not restrict where the next pod may go.
bool asks_the_same(const ClusterState& state, const Attempt& attempt, ShapeId shape) {
    const PlacementRules& rules = state.rules_of(state.shape_of(shape));
    return attempt.barred_models.empty() && !attempt.avoids_windows &&
           (state.job(attempt.job).holding.pods == 0 ||
            !(rules.topology.any() || rules.takes_several_models()));
}

bool is_behind_reservation(const ClusterState& state, const PoolTurn& turn, JobId job,
                           Instant start) {
    return turn.reservation->exists() && turn.reservation->head_reservation().job != job &&
           !turn.reservation->is_over_by_then(start, state.job(job).run.time_max);
}

// Checks that the pods leave enough quota for the heads under limits that are before the job, if
// the job starts at `start`. If not, sets `behind`.
bool leaves_quota_of_heads(const ClusterState& state, PoolTurn& turn, Attempt& attempt,
                           Instant start) {
    if (turn.quota.empty()) return true;
    const QuotaReservations::HeadInWay kept =
        turn.quota.find_head_in_way(state, attempt.job, attempt.pods, start, attempt.barred_models,
                                    QuotaReservations::For::start);
    attempt.barred_with_alternative += kept.models_with_alternative;
    if (!kept.head.job.exists()) return true;
    attempt.behind = kept.head;
    attempt.watch |=
        ClassBlock::kQuotaReservation | ClassBlock::kQueueShrinks | ClassBlock::kTenantShrinks;
    const ClassId of = state.job(attempt.behind.job).waiting.in_class;
    const bool is_of_pool =
        of.exists() && (state.waiting.book().at(of).block.limits & ClassBlock::kOfPool);
    if (is_of_pool) attempt.watch |= ClassBlock::kPoolLending;
    return !kept.is_out;  // it may go to other GPU models
}

// The latest start of a job that evicts pods; computed only if it makes a difference.
Instant latest_start(const ClusterState& state, PoolTurn& turn, JobId job) {
    const bool is_behind = turn.reservation->exists() || !turn.quota.empty();
    if (!is_behind || state.job(job).run.time_max <= Duration{}) return state.now();
    const JobRow& row = state.job(job);
    const std::uint64_t changes = state.pool(turn.pool).changes;
    const bool has_quota = state.tree.pools() > 1 && state.tenant(row.tenant).has_quota();
    const TenantId tenant = has_quota ? row.tenant : TenantId::none();
    PoolTurn::LongestWait& known = turn.longest_wait;
    if (known.changes != changes || known.tenant != tenant) {
        known = {changes, tenant, longest_nomination(state, row)};
    }
    return state.now() + known.length;
}

// ClassBlock::limits for these pods: 0 if released usage would not lift the limits that block them.
std::uint16_t limits_hit(const ClusterState& state, const JobRow& job,
                         const std::vector<PodId>& pods) {
    std::uint16_t limits = 0;
    bool can_end = true;
    const auto add_limit = [&](const LimitHit& hit) {
        if (hit.leaves_others) return true;
        can_end = can_end && limit_row(hit.kind).freed == LimitFreed::by_other_jobs;
        std::uint16_t bit = 1;
        for (QueueId up = job.queue; up.exists() && up != hit.queue; up = state.queue(up).parent) {
            bit = static_cast<std::uint16_t>(bit << 1U);
        }
        const bool is_of_pool = is_of_pools(hit.kind);
        if (!hit.queue.exists()) bit = is_of_pool ? ClassBlock::kOfPool : ClassBlock::kOfTenant;
        limits |= bit;
        return true;
    };
    const Load ask = load_of(state, pods);
    visit_limits(state, job, ask, add_limit);
    visit_model_limits(state, job, ask, add_limit);
    return can_end ? limits : 0;
}

// The job uses quota now, so quota reservations for jobs after the known heads may have changed,
// too. Returns true if some of them are in another pool.
bool note_quota_moved(Commit& commit, const PoolTurn& turn, JobId id) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(id);
    ClassKey key;
    key.queue = job.queue;
    key.tenant = job.tenant;
    bool is_in_other_pool = false;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        for (const HeadReservation& kept : state.pool(pool).reservations.under_limits) {
            // If a quota reservation was reported for the job, its end has to be reported.
            is_in_other_pool = is_in_other_pool || (kept.job == id && pool != turn.pool);
            const ClassId of = state.job(kept.job).waiting.in_class;
            if (!of.exists()) continue;
            if (pool == turn.pool && turn.line.heads.is_known(kept.job)) continue;
            if (!is_under_limit_of(state, state.waiting.book().at(of), key)) continue;
            commit.note_quota_moved(pool);
            // the turn of the other pool may be over
            is_in_other_pool = is_in_other_pool || pool != turn.pool;
            break;
        }
    }
    return is_in_other_pool;
}

}  // namespace

void JobStarter::refresh(Commit& commit, JobId job) {
    const ClusterState& state = commit.state();
    Readiness& ready = buffers_.ready;
    if (state.job(job).nomination.exists()) settle_nomination(commit, job);
    commit.refresh(job, ready);
    if (!ready.waits) return;
    if (ready.hold != Reason::none) {
        // its binds are in progress, or its user has paused it: there is nothing to report
        if (ready.hold == Reason::turn || ready.hold == Reason::paused) return;
        // A resumed job is placed on its seats by the next Plan.
        const bool resumes = state.job(job).pause.phase == PausePhase::resuming;
        if (ready.hold == Reason::room_nominated && resumes) return;
        commit.refuse(job, ready.hold, blockers(state, job, ready).front());
        return;
    }
    // The job joined a class that is already refused. It will not be tried, so its reason is
    // reported now.
    const JobClass& joined = state.waiting.book().at(state.job(job).waiting.in_class);
    if (joined.jobs.size() > 1 && state.waiting.is_blocked(joined)) {
        commit.report(job, explanations_.of(state, job, ready, placer_.eligibility()));
    }
}

AttemptResult JobStarter::attempt(Commit& commit, PoolTurn& turn, ClassId chosen) {
    const ClusterState& state = commit.state();
    const auto& equals = state.waiting.book().at(chosen).jobs;
    const JobId job =
        has_fault(SeededFault::last_of_its_class) ? equals.rbegin()->job : equals.begin()->job;
    Attempt attempt{state, job, buffers_};
    // Decisions of this cycle may have changed the job: a dropped nomination returned its ranks.
    if (attempt.ready.pods.empty()) {
        refresh(commit, job);
        return {};
    }
    attempt.avoids_windows =
        avoid_windows_ahead(state, placer_, state.job(job), attempt.ready.pods);
    attempt.is_long =
        turn.short_work.is_reserved() && turn.short_work.is_long(state, chosen, turn.line.scores);
    attempt.avoids_reservation = is_behind_reservation(state, turn, job, state.now());
    const bool is_placed = attempt.ready.all_or_nothing ? place_gang(commit, turn, attempt)
                                                        : place_one_by_one(commit, turn, attempt);
    AttemptResult out;
    if (is_placed) {
        out.has_moved_quota = note_quota_moved(commit, turn, job);
        if (attempt.ready.pods.size() > attempt.round.size()) refresh(commit, job);
    } else if (const EvictionPlan* evicting = make_room(commit, turn, attempt)) {
        turn.quota.note_nomination();
        out.has_moved_quota = note_quota_moved(commit, turn, job);
        const std::vector<Victim>& victims = evicting->victims;
        out.is_turn_lost = std::any_of(victims.begin(), victims.end(), [&](const Victim& one) {
            return loses_its_turn(state, state.pod(one.pod).job);
        });
    } else {
        refuse(commit, turn, attempt, chosen);
    }
    out.known_refusals = attempt.known_refusals;
    return out;
}

bool JobStarter::is_within_limits(const ClusterState& state, PoolTurn& turn, Attempt& attempt) {
    const JobRow& job = state.job(attempt.job);
    const Load ask = load_of(state, attempt.pods);
    if (attempt.is_long && turn.short_work.is_exhausted_by(state, job, ask.gpus)) {
        attempt.watch |= ClassBlock::kShortWork;
        return false;
    }
    attempt.barred_models.clear();
    attempt.barred_with_alternative = 0;
    visit_model_limits(state, job, ask, [&attempt](const LimitHit& hit) {
        attempt.barred_models.push_back(hit.model);
        if (hit.leaves_others) ++attempt.barred_with_alternative;
        attempt.watch |= watched_for(hit);
    });
    const LimitHit hit = state.accounts.limit_hit(job, ask);
    const bool is_within =
        !hit.exists() && leaves_quota_of_heads(state, turn, attempt, state.now());
    placer_.avoid(attempt.barred_models);
    if (!hit.exists()) return is_within;
    attempt.watch |= watched_for(hit);
    if (is_budget(hit.kind)) attempt.over_budget.push_back(hit);
    return false;
}

bool JobStarter::is_limited(const ClusterState& state, PoolTurn& turn, Attempt& attempt) {
    attempt.choose_smallest_size();
    return !is_within_limits(state, turn, attempt) ||
           attempt.barred_models.size() > attempt.barred_with_alternative;
}

bool JobStarter::find_room(const Overlay& overlay, const PoolTurn& turn, Attempt& attempt) {
    const PoolId pool = overlay.state.job(attempt.job).pool;
    std::optional<Withholding> kept;
    if (attempt.avoids_reservation) {
        kept.emplace(overlay.capacity, turn.reservation->reserved_amounts(overlay.capacity.read()));
    }
    return placer_.place_all(overlay.state, overlay.capacity, pool, attempt.pods, attempt.round);
}

bool JobStarter::place(Commit& commit, PoolTurn& turn, Attempt& attempt, bool all_or_nothing) {
    const ClusterState& state = commit.state();
    if (!commit.place(attempt.job, attempt.round, all_or_nothing, CyclePlan::PlacedFor::turn)) {
        return false;
    }
    if (turn.short_work.is_reserved()) {
        commit.mark_long(attempt.job, attempt.is_long);
        for (const Placement& placement : attempt.round) {
            const ShapeId shape = state.pod(placement.pod).shape;
            if (attempt.is_long) turn.short_work.note_placed(state.shape_of(shape).gpus);
        }
    }
    if (turn.reservation->exists()) {
        turn.reservation->note_placed(state, attempt.round, !attempt.avoids_reservation);
    }
    turn.quota.note_placed(state, attempt.job, attempt.round);
    return true;
}

bool JobStarter::place_one_by_one(Commit& commit, PoolTurn& turn, Attempt& attempt) {
    const ClusterState& state = commit.state();
    const PoolId pool = state.job(attempt.job).pool;
    std::size_t placed = 0;
    const bool has_competition = state.waiting.book().jobs_waiting() > 1;
    for (const PodId pod : attempt.ready.pods) {
        const ShapeId shape = state.pod(pod).shape;
        attempt.pods.assign(1, pod);
        if (!is_within_limits(state, turn, attempt)) continue;
        const bool is_general = asks_the_same(state, attempt, shape);
        if (is_general && refused_shapes_.contains(state, pool, shape, 1)) {
            ++attempt.known_refusals;
            watch_room(attempt);
            continue;
        }
        if (!find_room(commit.overlay(), turn, attempt)) {
            if (is_general && !attempt.avoids_reservation) {
                refused_shapes_.add(state, pool, shape, 1);
            }
            watch_room(attempt);
            continue;
        }
        if (place(commit, turn, attempt, false)) {
            ++placed;
            // While other jobs compete, one pod is placed per turn: what the job holds now decides
            // the next turn.
            if (has_competition) break;
        } else {
            watch_room(attempt);
        }
    }
    attempt.round.resize(placed > 0 ? 1 : 0);
    if (placed == attempt.ready.pods.size()) attempt.ready.pods.resize(attempt.round.size());
    return placed > 0;
}

bool JobStarter::place_gang(Commit& commit, PoolTurn& turn, Attempt& attempt) {
    const ClusterState& state = commit.state();
    const JobRow& job = state.job(attempt.job);
    const auto needed = static_cast<std::size_t>(attempt.ready.ranks_needed);
    std::vector<PodId>& pods = attempt.pods;
    pods = attempt.ready.pods;
    if (ElasticJobs::is_elastic(job)) pods.resize(needed);  // extra ranks come last
    // Tries all ranks that exist, then the smallest complete gang.
    for (;;) {
        const ShapeId shape = state.pod(pods.front()).shape;
        const bool uniform = std::all_of(pods.begin(), pods.end(),
                                         [&](PodId pod) { return state.pod(pod).shape == shape; });
        const auto ranks = static_cast<std::int64_t>(pods.size());
        if (!is_within_limits(state, turn, attempt)) {
            // a smaller round may still be allowed
        } else if (uniform && asks_the_same(state, attempt, shape) &&
                   refused_shapes_.contains(state, job.pool, shape, ranks)) {
            ++attempt.known_refusals;
            watch_room(attempt);
        } else if (!find_room(commit.overlay(), turn, attempt)) {
            if (uniform && asks_the_same(state, attempt, shape) && !attempt.avoids_reservation) {
                refused_shapes_.add(state, job.pool, shape, ranks);
            }
            watch_room(attempt);
        } else if (place(commit, turn, attempt, true)) {
            return true;
        } else {
            watch_room(attempt);
        }
        if (pods.size() <= needed) return false;
        pods.resize(needed);
    }
}

// The last resort: evicts pods for the job.
const EvictionPlan* JobStarter::make_room(Commit& commit, PoolTurn& turn, Attempt& attempt) {
    const ClusterState& state = commit.state();
    if (attempt.ready.pods.empty()) return nullptr;
    const JobRow& job = state.job(attempt.job);
    attempt.choose_smallest_size();
    RoomRequest want{attempt.job, attempt.pods, load_of(state, attempt.pods), nullptr};
    if (!room_maker_.may_try(state, want, attempt.watch)) return nullptr;
    // Watches every limit that is hit, because victims may lift one limit and not the next.
    // Evicting pods returns no GPU time to a budget.
    bool has_time = true;
    visit_limits(state, job, want.ask, [&](const LimitHit& hit) {
        attempt.watch |= watched_for(hit);
        if (!is_budget(hit.kind)) return true;
        attempt.over_budget.push_back(hit);
        has_time = false;
        return true;
    });
    if (!has_time) return nullptr;
    // A job behind the head of the line uses no room that victims release on reserved nodes, and it
    // starts only after its victims have terminated.
    const Instant start = latest_start(state, turn, attempt.job);
    attempt.avoids_reservation =
        attempt.avoids_reservation || is_behind_reservation(state, turn, attempt.job, start);
    if (attempt.avoids_reservation) attempt.watch |= ClassBlock::kHeadReservation;
    attempt.barred_models.clear();
    if (!leaves_quota_of_heads(state, turn, attempt, start)) return nullptr;
    if (attempt.is_long && turn.short_work.is_exhausted_by(state, job, want.ask.gpus))
        return nullptr;
    if (attempt.avoids_reservation) want.withheld = turn.reservation;
    placer_.bar_models(attempt.barred_models);
    const EvictionPlan* made = room_maker_.make(commit, want);
    placer_.bar_models({});
    if (made != nullptr && turn.reservation->exists()) {
        turn.reservation->note_placed(state, made->round, !attempt.avoids_reservation);
    }
    return made;
}

// Blocks the whole class until what it lacks may have become available. The job that was tried is
// reported when its explanation changes, the jobs behind it when the reason changes.
void JobStarter::refuse(Commit& commit, PoolTurn& turn, Attempt& attempt, ClassId chosen) {
    const ClusterState& state = commit.state();
    const JobId job = attempt.job;
    const Reason before = state.waiting.book().at(chosen).block.reason;
    if (has_fault(SeededFault::watch_the_wrong_counter)) attempt.watch = ClassBlock::kQueueShrinks;
    const bool is_limit = is_limited(state, turn, attempt);
    for (const LimitHit& hit : attempt.over_budget) commit.await_budget(job, hit);
    ClassBlock block;  // what it watches is part of the explanation
    block.reason = before;
    block.watch = attempt.watch;
    block.is_limited = is_limit;
    block.limits = is_limit ? limits_hit(state, state.job(job), attempt.pods) : 0;
    if (attempt.behind.job.exists()) {
        if (is_limit || attempt.barred_with_alternative > 0) block.behind = attempt.behind.job;
        commit.reserve_quota(turn.pool, attempt.behind);
    }
    commit.block(chosen, block);
    const Explanation& story = explanations_.of(state, job, attempt.ready, placer_.eligibility());
    block.reason = story.reason;
    commit.refuse(chosen, job, block);
    commit.report(job, story);
    if (before == story.reason) return;
    for (const WaitingJob& other : state.waiting.book().at(chosen).jobs) {
        if (other.job != job) commit.report(other.job, story);
    }
}

}  // namespace gpuctl
