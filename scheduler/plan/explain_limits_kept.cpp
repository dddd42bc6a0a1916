// Who is kept what is left under a limit, and what that means for the others (limit_holds.hpp).

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl::explain_parts {
namespace {

// By those of the pool that are behind it.
const Promise* kept_for(const ClusterState& state, PoolId of, JobId id) {
    const PoolRow& pool = state.pool(of);
    if (pool.promise.job == id) return &pool.promise;
    const auto found = std::find_if(pool.limits_kept.begin(), pool.limits_kept.end(),
                                    [id](const Promise& one) { return one.job == id; });
    return found == pool.limits_kept.end() ? nullptr : &*found;
}

// "queue a of pool gpu": of the limit that stops it first; none when no limit does.
std::string stopped_by(const ClusterState& state, JobId id) {
    Readiness ready;
    state.read_readiness(id, ready);
    if (ready.pods.empty()) return "";
    ready.pods.resize(ready.all_or_nothing ? static_cast<std::size_t>(ready.ranks_needed) : 1);
    const JobRow& job = state.job(id);
    const Load ask = load_of(state, ready.pods);
    std::string holder;
    const auto note = [&](const LimitHit& hit) {
        if (holder.empty() && !hit.leaves_others) holder = limit_holder(state, job, hit);
        return false;
    };
    visit_limits(state, job, ask, note);
    visit_model_limits(state, job, ask, note);
    return holder;
}

// A limit stops it, and others could be stopped to lift that: not before the first in line. False:
// it is behind nobody.
bool tell_behind(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!is_of_limit(out.front().reason) || !job.waits_in.exists()) return false;
    const JobId behind = state.book().at(job.waits_in).block.behind;
    const Promise* kept = behind.exists() ? kept_for(state, job.pool, behind) : nullptr;
    const std::string holder = kept != nullptr ? stopped_by(state, behind) : "";
    if (behind == id || holder.empty()) return false;
    out.front().sentence +=
        "; nobody is stopped for it meanwhile: what comes free under the limit of " + holder +
        " is kept for " + shown_name(state.job(behind).key) + ", which is first in line";
    return true;
}

void tell_head(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const Promise* own = nullptr;
    for (const auto& [name, pool] : state.pools_by_name()) {
        for (const Promise& one : state.pool(pool).limits_kept) {
            if (one.job == id && own == nullptr) own = &one;
        }
    }
    Explanation& told = out.front();
    if (own == nullptr || !is_of_limit(told.reason)) return;
    if (!own->at.happened()) {
        const Duration waited = state.now() - state.job(id).submitted_at;
        told.figures.push_back({"waited_ms", waited.ms()});
        told.sentence +=
            "; it came " + span(waited) +
            " ago and is first in line: what comes free under that limit is kept for it";
        return;
    }
    const Duration until = std::max(own->at - state.now(), Duration{});
    told.figures.push_back({"within_limits_in_ms", until.ms()});
    told.sentence +=
        "; it is first in line, so that what comes free under that limit is kept for it"
        ": that is enough in " +
        span(until) +
        " at the latest, if what runs uses up its limits and no other comes to be "
        "first before";
}

}  // namespace

void explain_limits_kept(const ClusterState& state, JobId id, std::vector<Explanation>& out) {
    const JobRow& job = state.job(id);
    if (!job.pool.exists()) return;
    if (!out.empty()) {
        // First in line in its own pool, and behind one of another: that is not kept for both.
        if (!tell_behind(state, id, out)) tell_head(state, id, out);
        return;
    }
    if (!job.waits_in.exists()) return;
    // As it was told last: what has changed since may give it another turn, and has not yet.
    const JobId behind = state.book().at(job.waits_in).block.behind;
    const Promise* kept = behind.exists() ? kept_for(state, job.pool, behind) : nullptr;
    if (kept == nullptr) return;
    const JobRow& head = state.job(behind);
    const std::string holder = stopped_by(state, behind);
    Explanation held;
    held.reason = Reason::reserved;
    held.subject = shown_name(head.key);
    held.nodes_total = state.pool(job.pool).nodes;
    held.sentence = "what " + (holder.empty() ? "its queue and its namespace" : holder) +
                    " may still hold is kept for " + held.subject;
    if (!kept->at.happened()) {
        const Duration waited = state.now() - head.submitted_at;
        held.figures = {{"waited_ms", waited.ms()}};
        held.sentence += ", which came " + span(waited) + " ago and is first in line";
    } else {
        const Duration until = std::max(kept->at - state.now(), Duration{});
        held.figures = {{"within_limits_in_ms", until.ms()},
                        {"run_time_max_ms", job.run_time_max.ms()}};
        held.sentence += ", which is first in line and has enough in " + span(until) +
                         (job.run_time_max > Duration{}
                              ? " at the latest; it may run for " + span(job.run_time_max)
                              : " at the latest; it has no limit (maxRunTime) that ends before");
    }
    out.push_back(std::move(held));
}

}  // namespace gpuctl::explain_parts
