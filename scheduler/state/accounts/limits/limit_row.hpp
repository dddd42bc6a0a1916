#pragma once
// A row of the table of limits (limit_table.hpp). Everything that differs between two limits is a
// column here: no other file asks for the kind of a limit.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/policy/policy.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/state/accounts/limit_hit.hpp"
#include "scheduler/state/accounts/released_usage.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// The scope of a limit: each queue of the chain (with a model: its limit of that GPU model), the
// pool, or the namespace.
enum class LimitScope : std::uint8_t { queue, queue_model, pool, pool_model, tenant };
using fact::LimitUnit;
// What lets more through: other jobs that end, a new period, or only a higher limit.
enum class LimitFreed : std::uint8_t { by_other_jobs, by_new_period, by_nothing };

// What a limit is asked for, and the position of the walk.
struct LimitAt {
    const ClusterState& state;
    const JobRow& job;
    const Load& ask;
    const ReleasedUsage* released;  // null: everything is counted as it is
    // Of the job, without the released usage. `pods_charged` is 0 while the job is being moved.
    std::int64_t pods_held = 0;
    std::int64_t pods_charged = 0;
    GpuMilli gpus_held = {};
    // Of the queue at this step.
    QueueId queue = {};
    const QueueRow* row = nullptr;
    GpuMilli held = {};              // without the released usage
    GpuMilli held_or_reserved = {};  // held, or reserved for it and the queues below it
    GpuMilli grows = {};             // by how much `held_or_reserved` grows with `ask`
    // The released usage of the namespace.
    Load tenant_released = {};
    // Of the GPU model at this step.
    const ModelHolding* holding = nullptr;
    const ModelRoom* room = nullptr;
};

struct LimitFigures {
    std::int64_t limit = 0;
    std::int64_t held = 0;
    std::int64_t needed = 0;                // as reported
    std::optional<std::int64_t> adds = {};  // what counts against the limit; absent: `needed`

    [[nodiscard]] constexpr bool are_crossed() const {
        const std::int64_t more = adds.value_or(needed);
        return more > 0 && held + more > limit;
    }
};

// A job before its admission: could it be within the limit if no other job ran?
struct LimitEverAt {
    const ClusterState& state;
    const JobSpec& spec;
    PoolId pool;
    QueueId leaf;                          // the queue of the job
    const TenantPolicy* tenant = nullptr;  // null: the policy does not name its namespace
    std::string_view model = {};           // the only GPU model that it could use; empty: several
    QueueId queue = {};                    // at this step
    const ModelHolding* holding = nullptr;
};

struct LimitEver {
    std::int64_t most = 0;   // the most that all its pods together may hold
    GpuMilli reserved = {};  // for other queues: why `most` is less than `of`
    GpuMilli of = {};
};

// Where the policy sets the limit.
struct LimitRaise {
    const LimitHit& hit;
    QueuePolicy* queue;  // or
    TenantPolicy* tenant;
    const std::string& pool;
};

struct LimitRow {
    LimitKind kind;
    std::string_view name;
    LimitScope scope;
    LimitUnit unit;
    Reason reason;
    fact::LimitRule rule = fact::LimitRule::maximum;  // how its figures are explained
    LimitFreed freed = LimitFreed::by_other_jobs;
    bool is_of_one_pool = false;     // of a namespace: counts only in the pool of the job
    bool is_lending = false;         // the rest is reserved for other queues
    bool is_within_parents = false;  // a queue may not be given more than the queues above it
    bool is_estimated = false;       // a start time can be estimated from the ends of running pods
    // Absent: the limit is not set. The walker compares the figures.
    std::optional<LimitFigures> (*read)(const LimitAt& at);
    // Absent, or null: the limit refuses no job for ever.
    std::optional<LimitEver> (*ever)(const LimitEverAt& at) = nullptr;
    // Sets the limit in a policy and returns the previous value. Null: it is not raised for a job.
    std::optional<std::int64_t> (*raise)(const LimitRaise& in, std::int64_t to) = nullptr;
};

}  // namespace gpuctl
