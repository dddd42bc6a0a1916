// Shows the terms that decide the order of jobs, one by one, as scheduler/policy/queue_order.cpp
// compares them.

#include <algorithm>

#include "scheduler/base/log2.hpp"
#include "scheduler/engine/views.hpp"
#include "scheduler/policy/queue_order.hpp"
#include "scheduler/policy/remaining_work.hpp"
#include "scheduler/queue/share.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/waiting/wait_target.hpp"

namespace gpuctl {
namespace {

constexpr std::size_t kAheadMost = 5;

// The approximate inverse of log2_fixed(), for display.
Duration time_of_log2(std::int64_t log2) {
    const std::int64_t whole = std::int64_t{1} << std::min<std::int64_t>(log2 / kLog2One, 50);
    return Duration{whole + whole / 4'096 * (log2 % kLog2One) / (kLog2One / 4'096)};
}

bool has_past_runs(const ClusterState& state, const RunTimeQuestion& about) {
    std::vector<Duration> runs;
    return state.run_times.history().alike(about, 1, runs) != RunTimeBasis::nothing;
}

TurnView::RunTime run_time_of(const ClusterState& state, const JobRow& job, Line& line) {
    const PoolRow& pool = state.pool(job.pool);
    const RunTimeQuestion about = state.run_times.question_about(job);
    TurnView::RunTime out;
    out.is_declared = about.expected > Duration{};
    out.is_left = state.run_times.stops_long_for_short(state.queue(job.queue));
    out.gpus = about.gpus;
    out.gpu_exponent_percent = pool.preemption.gpu_exponent_percent;
    if (out.is_left) {
        out.time = RemainingWork{}.remaining_time(state, job);
        // Without runs to learn from, the remaining time of a job that has not run is 0, whatever
        // its limit. An order by size counts that as the shortest time that it distinguishes
        // (scheduler/policy/remaining_work.hpp).
        out.is_known = out.is_declared || has_past_runs(state, about);
        const bool counts_sizes = pool.preemption.mode != PreemptionMode::due;
        if (!out.is_known && counts_sizes) out.time = std::max(out.time, kShortestFelt);
    } else {
        out.time = time_of_log2(line.scores.run_time_log2(state, job.waiting.in_class));
        out.is_known = out.is_declared || about.limit > Duration{} || has_past_runs(state, about);
    }
    if (pool.preemption.mode != PreemptionMode::due) out.halved_every = pool.backfill.ageing;
    return out;
}

void add_those_ahead(const ClusterState& state, JobId id, Line& line, TurnView& turn) {
    const JobRow& job = state.job(id);
    const Contender own{job.waiting.in_class,
                        &state.waiting.book().at(job.waiting.in_class),
                        {job.submitted_at, job.arrival, id}};
    std::vector<Contender> ahead;
    for (const ClassId other : state.waiting.book().of_queue(job.queue)) {
        for (const WaitingJob& waits : state.waiting.book().at(other).jobs) {
            const Contender one{other, &state.waiting.book().at(other), waits};
            if (job_comes_first(state, job.queue, line, one, own)) ahead.push_back(one);
        }
    }
    turn.ahead_count = static_cast<std::int64_t>(ahead.size());
    const auto shown = static_cast<std::ptrdiff_t>(std::min(ahead.size(), kAheadMost));
    std::partial_sort(ahead.begin(), ahead.begin() + shown, ahead.end(),
                      [&](const Contender& a, const Contender& b) {
                          return job_comes_first(state, job.queue, line, a, b);
                      });
    for (auto one = ahead.begin(); one != ahead.begin() + shown; ++one) {
        turn.ahead.push_back(state.job(one->job.job).key);
    }
}

}  // namespace

std::optional<TurnView> turn_of(const ClusterState& state, const ObjectKey& key) {
    const JobId id = state.jobs.find_job(key);
    if (!id.exists()) return std::nullopt;
    const JobRow& job = state.job(id);
    if (!job.waiting.in_class.exists() || job.priority >= kSystemPriority) return std::nullopt;
    const PoolRow& pool = state.pool(job.pool);
    const QueueRow& leaf = state.queue(job.queue);
    const TenantRow& tenant = state.tenant(job.tenant);
    TurnView turn;
    Line line;
    line.terminating_pods.read(state, job.pool);
    for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
        const QueueRow& queue = state.queue(up);
        const QueueOrder order =
            queue.parent.exists() ? state.queue(queue.parent).order : pool.order;
        turn.levels.push_back({queue.name, order, queue.priority, queue.guaranteed,
                               queue.account.held.gpus, line.terminating_pods.of_queue(up).gpus,
                               share_of_queue(state, line, up), recent_share_of_queue(state, up),
                               queue.weight, queue.is_beyond_guarantee});
    }
    std::reverse(turn.levels.begin(), turn.levels.end());
    turn.order = leaf.order;
    turn.priority = job.priority;
    turn.priority_by_waiting =
        state.accounts.aged_priority(job.priority, job.submitted_at) - job.priority;
    turn.waited = std::max(state.now() - job.submitted_at, Duration{});
    if (state.run_times.stops_long_for_short(leaf)) {
        RemainingWork work;
        if (pool.preemption.mode == PreemptionMode::due) {
            turn.due_at = Instant{work.of_waiting(state, job)};
            turn.due_times = std::int64_t{1} << static_cast<unsigned>(job.run.lateness.doublings);
        }
        turn.begin_by = RemainingWork::begin_by(state, job).value_or(Instant{});
        const auto target = wait_target_of(state, job);
        if (target && state.now() < target->missed_from) {
            turn.sooner_from = target->near_from;
            turn.sooner_until = target->missed_from;
        }
    }
    if (leaf.order == QueueOrder::shortest) turn.run_time = run_time_of(state, job, line);
    add_those_ahead(state, id, line, turn);
    turn.tenant = tenant.name;
    turn.tenant_weight = tenant.weight;
    turn.tenant_share = share_of_tenant(state, line, job.queue, job.tenant);
    turn.tenant_recent_usage = recent_share_of_tenant(state, job.queue, job.tenant);
    turn.tenant_held = state.tree.held_in_pool(job.tenant, job.pool);
    turn.tenant_terminating = line.terminating_pods.of_tenant(job.tenant);
    turn.tenant_quota = state.tree.pool_quota(job.tenant, job.pool);
    return turn;
}

}  // namespace gpuctl
