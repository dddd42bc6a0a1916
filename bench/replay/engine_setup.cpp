#include "bench/replay/engine_setup.hpp"

namespace gpuctl::replay {
namespace {

// Every virtual cluster is a queue that is guaranteed its quota and shares what is idle by quota.
std::vector<QueuePolicy> queues_by_quota(const Trace& trace) {
    std::vector<QueuePolicy> queues;
    for (const Owner& owner : trace.owners) {
        QueuePolicy queue;
        queue.name = owner.name;
        queue.order = QueueOrder::shortest;
        queue.weight = owner.quota_gpus;
        queue.guaranteed = whole_gpus(owner.quota_gpus);
        queues.push_back(std::move(queue));
    }
    return queues;
}

// All work of these files keeps its progress when it is stopped.
void stop_long_for_short(PoolPolicy& pool, gpuctl::Policy& policy) {
    pool.order = QueueOrder::shortest;
    pool.preemption.mode = PreemptionMode::shortest;
    policy.evictions_per_job_per_hour = 1'000;
}

}  // namespace

std::optional<EngineSetup> engine_setup_for(Suite suite, const Trace& trace) {
    EngineSetup setup;
    PoolPolicy pool;
    pool.name = kDefaultPool;
    QueuePolicy all;
    all.name = kDefaultQueue;
    all.order = QueueOrder::shortest;
    pool.queues.push_back(std::move(all));
    switch (suite) {
        case Suite::backfill:
            pool.backfill.short_percent = 5;
            break;
        case Suite::philly64:  // whose jobs wait for weeks, and whose mean is what counts
            setup.may_be_stopped = true;
            stop_long_for_short(pool, setup.policy);
            pool.preemption.makespan_percent = 98;
            pool.backfill.ageing = pool.backfill.patience = Duration::seconds(365 * 24 * 3600);
            break;
        case Suite::fairness:  // nobody is to take much longer than on a share of his own
            setup.may_be_stopped = true;
            stop_long_for_short(pool, setup.policy);
            pool.preemption.mode = PreemptionMode::due;
            pool.preemption.makespan_percent = 105;
            pool.backfill.ageing = pool.backfill.patience = Duration::seconds(365 * 24 * 3600);
            break;
        case Suite::vc:
            pool.queues = queues_by_quota(trace);
            setup.owners_are_queues = true;
            setup.may_be_stopped = true;
            stop_long_for_short(pool, setup.policy);
            // As the guarantee is meant there: for who wants no more than his quota.
            pool.preemption.guarantees = GuaranteeRule::when_demand_fits;
            // What is wanted of the slowest hundredth.
            pool.preemption.wait_target = Duration::seconds(1'800);
            break;
        case Suite::elastic:  // its jobs are told apart by age only: elastic_policy.hpp
            pool.queues.front().order = QueueOrder::fifo;
            break;
        case Suite::openb:  // a world of its own: engine_packer.hpp
            return std::nullopt;
    }
    setup.policy.pools.push_back(std::move(pool));
    return setup;
}

}  // namespace gpuctl::replay
