// Which limit stops a job: whose it is, what is held of it, what more is needed.

#include "scheduler/plan/explain_parts.hpp"

namespace gpuctl {
namespace {

std::string figure(LimitKind kind, std::int64_t amount) {
    switch (kind) {
        case LimitKind::tenant_cpu:
            return format_cpu(CpuMilli{amount});
        case LimitKind::tenant_memory:
            return format_bytes(Bytes{amount});
        case LimitKind::queue_jobs:
            return std::to_string(amount);
        default:
            return explain_parts::gpus(amount);
    }
}

const char* unit(LimitKind kind) {
    switch (kind) {
        case LimitKind::tenant_cpu:
            return "cpu";
        case LimitKind::tenant_memory:
            return "memory";
        case LimitKind::queue_jobs:
            return "jobs";
        default:
            return "gpus";
    }
}

// "12 of 16 GPUs its maximum allows"
std::string arithmetic(const LimitHit& hit) {
    const std::string held = figure(hit.kind, hit.held);
    const std::string limit = figure(hit.kind, hit.limit);
    const std::string gpus = held + " of " + explain_parts::gpus_noun(hit.limit);
    switch (hit.kind) {
        case LimitKind::none:
        case LimitKind::queue_budget:  // explain_budget() tells those
        case LimitKind::tenant_budget:
            break;
        case LimitKind::queue_maximum:
            return " holds " + gpus + " its maximum allows";
        case LimitKind::queue_borrowing:
            return " holds " + gpus + " its guarantee and its borrowing limit allow";
        case LimitKind::queue_lending:
            return " holds or keeps back for other sub-queues " + gpus + " it may hold";
        case LimitKind::queue_jobs:
            return " runs " + held + " of " + limit + (hit.limit == 1 ? " job" : " jobs") +
                   " it may run at once";
        case LimitKind::queue_gpus_per_job:
            return " lets one job hold " + explain_parts::gpus_noun(hit.limit) +
                   ", this one holds " + held;
        case LimitKind::queue_model_maximum:
            return " holds " + held + " of " + limit + " " + std::string{hit.model} +
                   " GPUs its maximum allows";
        case LimitKind::pool_reserve:
            return " keeps the rest of its GPUs for services and further ranks of elastic jobs: "
                   "others hold " +
                   gpus + " left to them";
        case LimitKind::pool_lending:
            return " has " + gpus + " held, or kept back for queues that do not lend them";
        case LimitKind::pool_model_lending:
            return " has " + held + " of " + limit + " " + std::string{hit.model} +
                   " GPUs held, or kept back for queues that do not lend them";
        case LimitKind::tenant_gpus:
            return " holds " + gpus + " it may hold";
        case LimitKind::tenant_cpu:
            return " holds " + held + " of " + limit + " CPU it may hold";
        case LimitKind::tenant_memory:
            return " holds " + held + " of " + limit + " memory it may hold";
        case LimitKind::tenant_pool_gpus:
            return " holds " + gpus + " its quota allows";
    }
    return "";
}

// What is claimed while others still hold it may make a queue seem to hold more than it may.
GpuMilli claimed_below(const ClusterState& state, QueueId queue) {
    GpuMilli sum;
    for (const JobId id : state.claims()) {
        const JobRow& job = state.job(id);
        bool is_below = false;
        for (QueueId up = job.queue; up.exists(); up = state.queue(up).parent) {
            is_below = is_below || up == queue;
        }
        if (!is_below) continue;
        for (const PodId pod : job.pods) {
            if (state.pod(pod).standing != PodStanding::claimed) continue;
            sum += state.shapes().at(state.pod(pod).shape).gpus;
        }
    }
    return sum;
}

}  // namespace

namespace explain_parts {

std::string limit_holder(const ClusterState& state, const JobRow& job, const LimitHit& hit) {
    const std::string& pool = state.pool(job.pool).name;
    if (hit.queue.exists()) return "queue " + state.queue_path(hit.queue) + " of pool " + pool;
    if (is_of_pools(hit.kind)) return "pool " + pool;
    const std::string holder = "namespace " + state.tenant(job.tenant).name;
    const bool is_in_pool =
        hit.kind == LimitKind::tenant_pool_gpus || hit.kind == LimitKind::tenant_budget;
    return is_in_pool ? holder + " in pool " + pool : holder;
}

Explanation explain_limit(const ClusterState& state, const JobRow& job, const LimitHit& hit,
                          bool takes_others) {
    if (hit.kind == LimitKind::queue_budget || hit.kind == LimitKind::tenant_budget) {
        return explain_budget(state, job, hit);
    }
    Explanation out;
    out.reason = Reason::queue_limit;
    if (hit.queue.exists()) {
        out.subject = state.queue_path(hit.queue);
    } else if (is_of_pools(hit.kind)) {
        if (hit.kind == LimitKind::pool_reserve) out.reason = Reason::kept_for_growth;
        out.subject = state.pool(job.pool).name;
    } else {
        out.reason = Reason::tenant_quota;
        out.subject = state.tenant(job.tenant).name;
    }
    const std::string of = unit(hit.kind);
    const GpuMilli claimed = hit.queue.exists() ? claimed_below(state, hit.queue) : GpuMilli{};
    out.figures = {
        {of + "_limit", hit.limit}, {of + "_held", hit.held}, {of + "_needed", hit.needed}};
    out.sentence = limit_holder(state, job, hit) + arithmetic(hit);
    if (claimed > GpuMilli{} && of == std::string{"gpus"}) {
        out.sentence += ", " + explain_parts::gpus(claimed.value()) +
                        " of them claimed for jobs that others are being stopped for";
    }
    out.sentence += "; ";
    if (hit.kind == LimitKind::queue_jobs) {
        out.sentence += "it waits for one of them to end";
        return out;
    }
    out.sentence += "it needs " + figure(hit.kind, hit.needed);
    if (hit.needed > hit.limit) out.sentence += ", more than may ever be held";
    if (takes_others) out.sentence += ", and so is placed on other GPU models alone";
    return out;
}

}  // namespace explain_parts
}  // namespace gpuctl
