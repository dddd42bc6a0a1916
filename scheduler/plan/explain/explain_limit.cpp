// Explains the limit that blocks a job: its holder, what is held under it, what the job needs.

#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/accounts/limits/limit_table.hpp"

namespace gpuctl {
namespace {

// The prefix of the names of figures.
std::string prefix_of(fact::LimitUnit unit) {
    switch (unit) {
        case fact::LimitUnit::cpu:
            return "cpu";
        case fact::LimitUnit::memory:
            return "memory";
        case fact::LimitUnit::jobs:
            return "jobs";
        case fact::LimitUnit::gpus:
        case fact::LimitUnit::gpu_time:
            break;
    }
    return "gpus";
}

// Nominated room below the queue. Victims still hold that room, so the queue may appear to hold
// more than its maximum.
GpuMilli nominated_below(const ClusterState& state, QueueId queue) {
    GpuMilli sum;
    for (const JobId id : state.nominations.nominated_jobs()) {
        const JobRow& job = state.job(id);
        bool is_below = false;
        for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
            is_below = is_below || up == queue;
        }
        if (!is_below) continue;
        for (const PodId pod : job.pods) {
            if (state.pod(pod).bind.state != BindState::nominated) continue;
            sum += state.shape_of(pod).gpus;
        }
    }
    return sum;
}

}  // namespace

namespace explain_parts {

fact::LimitHolder limit_holder(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const std::string& pool = state.pool(job.pool).name;
    if (hit.queue.exists())
        return {.queue = state.tree.queue_path(hit.queue), .tenant = "", .pool = pool};
    if (is_of_pools(hit.kind)) return {.queue = "", .tenant = "", .pool = pool};
    const std::string& tenant = state.tenant(job.tenant).name;
    return {.queue = "", .tenant = tenant, .pool = limit_row(hit.kind).is_of_one_pool ? pool : ""};
}

Explanation explain_limit(const ClusterState& state, const JobRow& job, const LimitHit& hit,
                          bool takes_others) {
    if (is_budget(hit.kind)) return explain_budget(state, job, hit);
    const LimitRow& row = limit_row(hit.kind);
    Explanation out;
    out.reason = row.reason;
    if (hit.queue.exists()) {
        out.subject = state.tree.queue_path(hit.queue);
    } else if (is_of_pools(hit.kind)) {
        out.subject = state.pool(job.pool).name;
    } else {
        out.subject = state.tenant(job.tenant).name;
    }
    const fact::LimitUnit unit = row.unit;
    const bool counts_nominated = hit.queue.exists() && unit == fact::LimitUnit::gpus;
    const std::string of = prefix_of(unit);
    out.figures = {
        {of + "_limit", hit.limit}, {of + "_held", hit.held}, {of + "_needed", hit.needed}};
    out.facts = {fact::LimitReached{
        .holder = limit_holder(state, job, hit),
        .rule = row.rule,
        .unit = unit,
        .model = std::string{hit.model},
        .limit = hit.limit,
        .held = hit.held,
        .needed = hit.needed,
        .nominated = counts_nominated ? nominated_below(state, hit.queue) : GpuMilli{},
        .leaves_other_models = takes_others}};
    return out;
}

}  // namespace explain_parts
}  // namespace gpuctl
