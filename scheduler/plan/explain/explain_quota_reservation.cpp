// Explains quota reservations: to the job that has one, and to jobs that wait behind it
// (quota_reservations.hpp).

#include <algorithm>

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl::explain_parts {
namespace {

// The reservation, of nodes or of quota, that the job has in the pool; null: none.
const HeadReservation* find_reservation(const ClusterState& state, PoolId of, JobId id) {
    const PoolRow& pool = state.pool(of);
    if (pool.reservations.head.job == id) return &pool.reservations.head;
    const auto found =
        std::find_if(pool.reservations.under_limits.begin(), pool.reservations.under_limits.end(),
                     [id](const HeadReservation& one) { return one.job == id; });
    return found == pool.reservations.under_limits.end() ? nullptr : &*found;
}

// The holder of the first limit that blocks the job; nothing if no limit does.
std::optional<fact::LimitHolder> find_limit_holder(const ClusterState& state, JobId id) {
    Readiness ready;
    state.waiting.read_readiness(id, ready);
    if (ready.pods.empty()) return std::nullopt;
    ready.pods.resize(ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1);
    const JobRow& job = state.job(id);
    const Load ask = load_of(state, ready.pods);
    std::optional<fact::LimitHolder> holder;
    const auto add_limit = [&](const LimitHit& hit) {
        if (!holder && !hit.leaves_others) holder = limit_holder(state, job, hit);
        return false;
    };
    visit_limits(state, job, ask, add_limit);
    visit_model_limits(state, job, ask, add_limit);
    return holder;
}

// Reports that a limit blocks the job which evictions could lift, but not before the head of the
// line has started. False: no head is before it.
bool explain_behind(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!is_of_limit(out.front().reason) || !job.waiting.in_class.exists()) return false;
    const JobId behind = state.waiting.book().at(job.waiting.in_class).block.behind;
    const HeadReservation* kept =
        behind.exists() ? find_reservation(state, job.pool, behind) : nullptr;
    if (kept == nullptr || behind == id) return false;
    std::optional<fact::LimitHolder> holder = find_limit_holder(state, behind);
    if (!holder) return false;
    out.front().facts.push_back(
        fact::LimitReservedForHead{std::move(*holder), to_string(state.job(behind).key)});
    return true;
}

void explain_head(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const HeadReservation* own = nullptr;
    for (const auto& [name, pool] : state.tree.pools_by_name()) {
        for (const HeadReservation& one : state.pool(pool).reservations.under_limits) {
            if (one.job == id && own == nullptr) own = &one;
        }
    }
    Explanation& first = out.front();
    if (own == nullptr || !is_of_limit(first.reason)) return;
    fact::HeadUnderLimit head{state.now() - state.job(id).submitted_at, std::nullopt};
    if (!own->at.happened()) {
        first.figures.push_back({"waited_ms", head.waited.ms()});
    } else {
        head.within_in = std::max(own->at - state.now(), Duration{});
        first.figures.push_back({"within_limits_in_ms", head.within_in->ms()});
    }
    first.facts.push_back(std::move(head));
}

}  // namespace

void explain_quota_reservation(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!job.pool.exists()) return;
    if (!out.empty()) {
        // The job may be the head of the line in its own pool and wait behind a head of another
        // pool. Only one of these is reported.
        if (!explain_behind(state, id, out)) explain_head(state, id, out);
        return;
    }
    if (!job.waiting.in_class.exists()) return;
    // The head that it waited behind at the last report. Changes since then may have given it
    // another turn that has not come yet.
    const JobId behind = state.waiting.book().at(job.waiting.in_class).block.behind;
    const HeadReservation* kept =
        behind.exists() ? find_reservation(state, job.pool, behind) : nullptr;
    if (kept == nullptr) return;
    const JobRow& head = state.job(behind);
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = to_string(head.key);
    held.nodes_total = state.pool(job.pool).nodes;
    fact::LimitReserved reserved{.holder = find_limit_holder(state, behind),
                                 .head = held.subject,
                                 .waited = state.now() - head.submitted_at,
                                 .within_in = std::nullopt,
                                 .run_time_max = job.run.time_max};
    if (!kept->at.happened()) {
        held.figures = {{"waited_ms", reserved.waited.ms()}};
    } else {
        reserved.within_in = std::max(kept->at - state.now(), Duration{});
        held.figures = {{"within_limits_in_ms", reserved.within_in->ms()},
                        {"run_time_max_ms", job.run.time_max.ms()}};
    }
    held.facts = {std::move(reserved)};
    out.push_back(std::move(held));
}

}  // namespace gpuctl::explain_parts
