#pragma once
// Facts about limits and budgets that block a job.

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"
#include "scheduler/model/policy/budget.hpp"

namespace gpuctl::fact {

// The holder of a limit. Exactly one of these is set: queue (in pool), namespace (in pool, or in
// all pools), or pool.
struct LimitHolder {
    std::string queue;
    std::string tenant;
    std::string pool;  // empty: all pools
};
BOOST_DESCRIBE_STRUCT(LimitHolder, (), (queue, tenant, pool))

enum class LimitRule : std::uint8_t {
    maximum,
    guarantee_and_borrowing,
    reserved_for_siblings,  // what sibling queues reserve and do not lend counts as held
    jobs_at_once,
    gpus_per_job,
    reserved_for_growth,  // of a pool, for services and extra ranks of elastic jobs
    reserved_for_queues,  // of a pool: what its queues reserve and do not lend counts as held
    tenant_maximum,
    pool_quota  // of a namespace in one pool
};
enum class LimitUnit : std::uint8_t { gpus, cpu, memory, jobs, gpu_time };

struct LimitReached {
    LimitHolder holder;
    LimitRule rule = LimitRule::maximum;
    LimitUnit unit = LimitUnit::gpus;
    std::string model;  // the GPU model, if the limit is for one
    std::int64_t limit = 0;
    std::int64_t held = 0;
    std::int64_t needed = 0;
    GpuMilli nominated;  // the nominated part of what is held
    bool leaves_other_models = false;
};
BOOST_DESCRIBE_STRUCT(LimitReached, (),
                      (holder, rule, unit, model, limit, held, needed, nominated,
                       leaves_other_models))

struct BudgetSpent {
    LimitHolder holder;
    BudgetPolicy budget;
    Instant period_begin;
    Instant period_end;
    GpuTime carried;  // negative: overdrawn in the last period
    GpuTime used;
    GpuTime committed;  // committed to running jobs
    GpuTime needed;
    Duration run_time_max;  // run-time limit of the job; 0: no limit
    Duration period_left;
    Instant enough_from;  // from then on the amount left is sufficient for the rest of the period
};
BOOST_DESCRIBE_STRUCT(BudgetSpent, (),
                      (holder, budget, period_begin, period_end, carried, used, committed, needed,
                       run_time_max, period_left, enough_from))

}  // namespace gpuctl::fact
