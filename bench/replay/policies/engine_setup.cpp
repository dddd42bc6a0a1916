#include "bench/replay/policies/engine_setup.hpp"

#include "scheduler/model/policy/named_policy.hpp"

namespace gpuctl::replay {
namespace {

QueuePolicy queue_named(const std::string& name, const NamedPolicy& named) {
    QueuePolicy queue;
    queue.name = name;
    queue.order = named.order;
    return queue;
}

// Every virtual cluster is a queue with its quota as guarantee; idle GPUs are shared in proportion
// to the quotas.
std::vector<QueuePolicy> queues_by_quota(const NamedPolicy& named, const Trace& trace) {
    std::vector<QueuePolicy> queues;
    for (const Owner& owner : trace.owners) {
        QueuePolicy queue = queue_named(owner.name, named);
        queue.weight = owner.quota_gpus;
        queue.guaranteed = whole_gpus(owner.quota_gpus);
        queues.push_back(std::move(queue));
    }
    return queues;
}

void apply_numbers(const EngineChoice& choice, PreemptionPolicy& preemption) {
    preemption.makespan_percent = choice.makespan_percent.value_or(preemption.makespan_percent);
    preemption.gpu_exponent_percent =
        choice.gpu_exponent_percent.value_or(preemption.gpu_exponent_percent);
    preemption.gain_percent = choice.gain_percent.value_or(preemption.gain_percent);
}

}  // namespace

std::string_view named_policy_of(Suite suite) {
    switch (suite) {
        case Suite::philly64:
            return "throughput";
        case Suite::fairness:
            return "fair";
        case Suite::vc:
            return "sla";
        case Suite::backfill:
            return "batch";
        case Suite::elastic:
            return kDefaultPolicyName;
        case Suite::openb:
            return {};  // openb has another world: engine_packer.hpp
    }
    return {};
}

std::optional<EngineSetup> engine_setup_for(Suite suite, const EngineChoice& choice,
                                            const Trace& trace) {
    const std::string_view of_suite = named_policy_of(suite);
    if (of_suite.empty()) return std::nullopt;
    const NamedPolicy* named =
        find_named_policy(choice.named_policy.empty() ? of_suite : choice.named_policy);
    if (named == nullptr) return std::nullopt;
    EngineSetup setup;
    setup.policy.evictions_per_job_per_hour = named->evictions_per_job_per_hour;
    PoolPolicy pool;
    pool.name = kDefaultPool;
    apply_named_policy(*named, pool);
    apply_numbers(choice, pool.preemption);
    setup.owners_are_queues = suite == Suite::vc;
    pool.queues = setup.owners_are_queues
                      ? queues_by_quota(*named, trace)
                      : std::vector<QueuePolicy>{queue_named(kDefaultQueue, *named)};
    // The jobs of these files keep their progress when they are preempted.
    setup.may_be_evicted =
        suite == Suite::philly64 || suite == Suite::fairness || suite == Suite::vc;
    setup.policy.pools.push_back(std::move(pool));
    return setup;
}

}  // namespace gpuctl::replay
