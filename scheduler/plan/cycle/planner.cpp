#include "scheduler/plan/cycle/planner.hpp"

#include <algorithm>
#include <optional>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/plan/drain/drain.hpp"
#include "scheduler/plan/estimate/start_by_budgets.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl {

const CyclePlan& Planner::run(Commit& commit) {
    const ClusterState& state = commit.state();
    placer_.keep_outside(std::nullopt);
    starter_.begin_cycle();
    refresh_changed_jobs(commit);
    Served served;
    if (drain(commit)) {
        served.is_complete = false;
    } else {
        const std::uint64_t searched = searches();
        served = serve_pools(commit);
        commit.note_effort({served.attempts, served.known_refusals, searches() - searched});
    }
    if (!served.is_complete) {
        commit.end_cycle(true, has_fault(SeededFault::idle_when_out_of_tries));
        return commit.plan();
    }
    const std::int64_t grown = grow_elastic_jobs(commit);
    // Some heads were reported before another pool was served, so their reports may be out of date.
    const bool may_differ = state.tree.pools() > 1 || grown > 0;
    const bool is_reported = may_differ && report_heads(commit);
    // Jobs that grew hold more now, and their ranks did not wait in the queue book.
    const bool has_news =
        !state.tree.with_new_demand().empty() || served.has_moved_quota || is_reported;
    commit.end_cycle(false, !has_news || has_fault(SeededFault::forget_new_demand));
    return commit.plan();
}

void Planner::refresh_changed_jobs(Commit& commit) {
    const bool is_new_term = commit.state().session.resend_due();
    const EffectId first = commit.state().session.effect_to_come();
    if (is_new_term) commit.resend_binds();
    for (const JobId job : commit.take_changed_jobs()) starter_.refresh(commit, job);
    if (is_new_term) commit.resend_evictions(first);
    commit.settle_guarantees();
}

bool Planner::drain(Commit& commit) {
    const Calendar& calendar = commit.state().maintenance.calendar();
    const bool is_due = calendar.clock.phase() == DrainPhase::due || !calendar.nodes.empty();
    return is_due && drain_nodes(commit);
}

Planner::Served Planner::serve_pools(Commit& commit) {
    const ClusterState& state = commit.state();
    const auto attempts_most =
        static_cast<std::uint64_t>(std::max<std::int64_t>(state.policy().plan_attempts_max, 1));
    if (reservations_.size() < state.tree.pools()) reservations_.resize(state.tree.pools());
    Served all;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        const Served one = serve(commit, pool, attempts_most - all.attempts);
        all.is_complete = one.is_complete;
        all.has_moved_quota = all.has_moved_quota || one.has_moved_quota;
        all.attempts += one.attempts;
        all.known_refusals += one.known_refusals;
        if (!all.is_complete) break;
    }
    return all;
}

Planner::Served Planner::serve(Commit& commit, PoolId pool, std::uint64_t attempts_most) {
    const ClusterState& state = commit.state();
    PoolTurn& turn = scratch_.serving;
    turn.open(state, pool, reservations_[pool.value()]);
    const bool renews =
        state.session.is_unfinished() && !has_fault(SeededFault::reserve_past_the_untried);
    quota_heads_.add_reported_of_other_pools(commit.overlay(), turn);
    if (renews && turn.line.may_reserve) renew_reservation(commit, turn);
    if (has_fault(SeededFault::grow_before_others)) grow(commit, pool);
    Served out;
    for (;;) {
        const ClassId chosen = next_class(state, pool, turn.line);
        if (!chosen.exists()) {
            if (is_over(commit, turn)) return out;
            continue;
        }
        const JobClass& of = state.waiting.book().at(chosen);
        const bool is_refused_room = state.waiting.is_blocked(of) && !of.block.is_limited &&
                                     (of.block.watch & ClassBlock::kHeadReservation) == 0;
        // A job that another head under a limit has been put in front of since its refusal is tried
        // once more, so that this is reported.
        if (quota_heads_.add_if_head(commit.overlay(), turn, chosen)) continue;
        if (is_refused_room && reserve_for_head(commit, turn, chosen)) continue;
        if (quota_heads_.look_in_front_of(commit.overlay(), turn, chosen)) continue;
        if (out.attempts == attempts_most) {
            out.is_complete = false;
            return out;
        }
        ++out.attempts;
        const AttemptResult tried = starter_.attempt(commit, turn, chosen);
        turn.line.heads.forget_tried();
        out.known_refusals += tried.known_refusals;
        out.has_moved_quota = out.has_moved_quota || tried.has_moved_quota;
        out.is_complete = !tried.is_turn_lost;
        if (tried.is_turn_lost) return out;
    }
}

bool Planner::is_over(Commit& commit, PoolTurn& turn) {
    // No job is at the head of the line any more, so jobs that an old reservation blocked may be
    // tried.
    const bool is_stale = !turn.reservation->exists() &&
                          commit.state().pool(turn.pool).reservations.head.job.exists();
    if (is_stale) commit.reserve_for_head(turn.pool, {});
    const bool has_moved = turn.quota.report(commit, turn.pool);
    return !has_moved && !is_stale;
}

// Jobs that the last cycle had no attempts left for are in the line before jobs that they will be
// behind once they are refused. Until they were tried, the head of the line is unknown. A new
// reservation would release the jobs that the old one blocked, and so on without end.
void Planner::renew_reservation(Commit& commit, PoolTurn& turn) {
    const ClusterState& state = commit.state();
    const JobId job = state.pool(turn.pool).reservations.head.job;
    const ClassId of = job.exists() ? state.job(job).waiting.in_class : ClassId::none();
    if (!of.exists() || state.waiting.book().at(of).jobs.begin()->job != job) return;
    const JobClass& waiting = state.waiting.book().at(of);
    if (!state.waiting.is_blocked(waiting) || waiting.block.is_limited) return;
    quota_heads_.add_in_front_of(commit.overlay(), turn, waiting);
    reserve_for_head(commit, turn, of);
}

namespace {

// Whether budgets allow the job at its reserved time: a budget may block it in a later period.
bool is_allowed_then(const ClusterState& state, const HeadReservation& reserved,
                     const std::vector<PodId>& pods) {
    if (!reserved.at.happened() || reserved.at <= state.now()) return true;
    const GpuMilli gpus = load_of(state, pods).gpus;
    return begins_by_budgets(state, state.job(reserved.job), gpus, reserved.at) == reserved.at;
}

}  // namespace

bool Planner::reserve_for_head(Commit& commit, PoolTurn& turn, ClassId of) {
    const ClusterState& state = commit.state();
    constexpr std::size_t kPassedMost = 4;
    const JobId job = state.waiting.book().at(of).jobs.begin()->job;
    // `is_long` is not set: the short-job reserve was checked when the job was tried.
    Attempt attempt = starter_.read_job(state, job);
    if (attempt.ready.pods.empty()) return false;
    // This call also resets the GPU models that the placer avoids for these pods.
    if (starter_.is_limited(state, turn, attempt)) return false;
    Reservation& reservation = *turn.reservation;
    const bool is_made = reservation.make(commit.overlay(), placer_, job, attempt.pods);
    if (is_made && is_allowed_then(state, reservation.head_reservation(), attempt.pods)) {
        turn.line.may_reserve = false;
        turn.line.heads.note_head_reservation(job);
        turn.quota.add_head_reservation(reservation.head_reservation(), reservation.models(state));
        commit.reserve_for_head(turn.pool, reservation.head_reservation());
        return true;
    }
    if (is_made) reservation.clear();
    turn.line.passed.push_back(of);
    if (turn.line.passed.size() == kPassedMost) turn.line.may_reserve = false;
    return true;
}

std::int64_t Planner::grow_elastic_jobs(Commit& commit) {
    const ClusterState& state = commit.state();
    // Growth starts when all jobs of all pools were tried, since the limit of a namespace spans
    // pools. Jobs that this cycle changed itself are tried in the next one, for instance a job
    // whose nomination was dropped.
    if (state.jobs.has_dirty()) return 0;
    std::int64_t grown = 0;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        if (state.elastic.elastic_jobs().empty()) break;
        grown += grow(commit, pool);
    }
    return grown;
}

PoolTurn& Planner::growth_turn(PoolId pool) {
    PoolTurn& turn = scratch_.growing;
    turn.pool = pool;
    turn.reservation = &reservations_[pool.value()];
    return turn;
}

std::int64_t Planner::grow(Commit& commit, PoolId pool) {
    const ClusterState& state = commit.state();
    const auto& elastic = state.elastic.elastic_jobs();
    const bool is_any_here = std::any_of(elastic.begin(), elastic.end(), [&](const auto& one) {
        return state.job(one.second).pool == pool && Grower::is_about(state.job(one.second));
    });
    if (!is_any_here) return 0;
    PoolTurn& turn = growth_turn(pool);
    turn.short_work.open(state, pool);
    quota_heads_.open_with_all(commit.overlay(), turn);
    return grower_.run(commit, turn);
}

// Reports the heads under limits again: the reserved times of later heads may be different now.
bool Planner::report_heads(Commit& commit) {
    const ClusterState& state = commit.state();
    bool has_changed = false;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        if (state.pool(pool).reservations.under_limits.empty()) continue;
        PoolTurn& turn = growth_turn(pool);
        quota_heads_.open_with_reported(commit.overlay(), turn);
        has_changed = turn.quota.report(commit, pool) || has_changed;
    }
    return has_changed;
}

std::uint64_t Planner::searches() const {
    std::uint64_t all = 0;
    for (const Reservation& one : reservations_) all += one.searches();
    return all;
}

}  // namespace gpuctl
