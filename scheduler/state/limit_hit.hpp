#pragma once
// A limit between a job and the room that it asks for, with its numbers (limits.hpp finds them).

#include <cstdint>
#include <string_view>

#include "scheduler/base/ids.hpp"

namespace gpuctl {

// What stopped a job, at which level.
enum class LimitKind : std::uint8_t {
    none,
    queue_maximum,
    queue_borrowing,  // above its guarantee
    queue_lending,    // the queue's room is kept back for its other sub-queues
    queue_jobs,
    queue_gpus_per_job,
    queue_model_maximum,
    queue_budget,        // GPU time of the period, see LimitHit
    pool_reserve,        // the rest is for what grows with demand
    pool_lending,        // the pool's GPUs are kept back for other queues
    pool_model_lending,  // those of one model
    tenant_gpus,
    tenant_cpu,
    tenant_memory,
    tenant_pool_gpus,
    tenant_budget  // in a pool
};

// What a pool keeps for others is no queue's limit.
constexpr bool is_of_pools(LimitKind kind) {
    return kind == LimitKind::pool_reserve || kind == LimitKind::pool_lending ||
           kind == LimitKind::pool_model_lending;
}

// What a namespace may hold wherever that is.
constexpr bool is_of_all_pools(LimitKind kind) {
    return kind == LimitKind::tenant_gpus || kind == LimitKind::tenant_cpu ||
           kind == LimitKind::tenant_memory;
}

struct LimitHit {
    LimitKind kind = LimitKind::none;
    QueueId queue;  // whose limit it is; none: the pool's or the tenant's
    std::int64_t limit = 0;
    // With what is kept back, where that is the point; of a budget, what is used and committed. All
    // three are GpuTime then.
    std::int64_t held = 0;
    std::int64_t needed = 0;
    std::string_view model = {};  // of limits of one; lives as long as the policy
    // It keeps the job off this model, which takes others that are left in the pool.
    bool leaves_others = false;
};

}  // namespace gpuctl
