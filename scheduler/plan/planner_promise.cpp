// The planner and the first in line that finds no room: what it is promised (reservation.hpp).

#include "scheduler/base/planted.hpp"
#include "scheduler/plan/planner.hpp"
#include "scheduler/plan/start_by_budgets.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

// Those that keep it off a GPU model, the first of all first: else other nodes would be promised.
void Planner::note_heads_before(ClusterState& state, const JobClass& waiting) {
    constexpr std::size_t kMost = 16;
    std::vector<ClassId> before;
    for (JobId behind = waiting.block.behind; behind.exists() && before.size() < kMost;) {
        const ClassId head = state.job(behind).waits_in;
        if (!head.exists() || state.queue(state.book().at(head).key.queue).pool != pool_) break;
        before.push_back(head);
        behind = state.book().at(head).block.behind;
    }
    for (; !before.empty(); before.pop_back()) {
        if (!line_.heads.has_answer_for(state, before.back())) note_head(state, before.back());
    }
}

// While jobs are left over that the last Plan had no tries for, they stand in the line before jobs
// behind which they will be once they are refused: who is first in line is not known yet. Promising
// anew would have those tried again that the old promise held back, and so on without end.
void Planner::keep_promise(ClusterState& state, PoolId pool, EngineFigures& figures) {
    const JobId job = state.pool(pool).promise.job;
    const ClassId of = job.exists() ? state.job(job).waits_in : ClassId::none();
    if (!of.exists() || state.book().at(of).jobs.begin()->job != job) return;
    const JobClass& waiting = state.book().at(of);
    if (!state.is_blocked(waiting) || waiting.block.is_limited) return;
    note_heads_before(state, waiting);
    make_promise(state, pool, of, figures);
}

bool Planner::make_promise(ClusterState& state, PoolId pool, ClassId of, EngineFigures& figures) {
    constexpr std::size_t kPassedMost = 4;
    const JobId job = state.book().at(of).jobs.begin()->job;
    state.read_readiness(job, ready_);
    if (ready_.pods.empty()) return false;
    is_long_ = false;  // what is kept for short work was asked when it was tried
    // Also tells the placer that no GPU model is to be avoided for these pods.
    if (is_limited(state, state.job(job))) return false;
    const std::uint64_t searched = reservation().searches();
    const bool is_made = reservation().make(state, placer_, job, pods_);
    figures.promise_searches += reservation().searches() - searched;
    if (is_made && !is_allowed_then(state, job)) {
        reservation().clear();  // a later period of a budget stops it then
    } else if (is_made) {
        line_.may_promise = false;
        line_.heads.note_promised(job);
        limit_holds_.add_promised(reservation().promise(), reservation().models(state));
        state.promise(pool, reservation().promise());
        return true;
    }
    line_.passed.push_back(of);
    if (line_.passed.size() == kPassedMost) line_.may_promise = false;
    return true;
}

bool Planner::is_allowed_then(const ClusterState& state, JobId job) {
    const Instant at = reservation().promise().at;
    if (!at.happened() || at <= state.now()) return true;
    const GpuMilli gpus = load_of(state, pods_).gpus;
    return begins_by_budgets(state, state.job(job), gpus, at) == at;
}

}  // namespace gpuctl
