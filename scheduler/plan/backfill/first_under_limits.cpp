#include "scheduler/plan/backfill/first_under_limits.hpp"

#include "scheduler/plan/backfill/quota_reservations.hpp"
#include "scheduler/policy/queue_order.hpp"

namespace gpuctl {

bool is_first_under_its_limits(const ClusterState& state, JobId job) {
    const PoolId pool = state.job(job).pool;
    if (!pool.exists() || !state.job(job).waiting.in_class.exists()) return false;
    Line line;
    line.reserves_quota = reserves_quota(state.pool(pool));
    line.has_only_heads = true;
    line.heads.look_for_all();
    for (;;) {
        const ClassId head = next_class(state, pool, line);
        if (!head.exists()) return false;
        const JobId first = state.waiting.book().at(head).jobs.begin()->job;
        QuotaReservations holds;
        const bool is_kept = holds.add(state, first);
        if (first == job) return is_kept;
        if (is_kept) {
            line.heads.add_head(state, head);
        } else {
            line.heads.pass(head);
        }
    }
}

}  // namespace gpuctl
