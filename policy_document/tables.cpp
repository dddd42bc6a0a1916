// The keys of a policy, their bounds and their meaning.

#include "policy_document/tables.hpp"

#include "policy_document/budget_keys.hpp"
#include "policy_document/maintenance_keys.hpp"
#include "policy_document/policy_keys.hpp"
#include "policy_document/queue_keys.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::config {
namespace {

constexpr std::int64_t kGiB = 1 << 30;

// GPUs in thousandths, absent or not.
template <typename T>
Key<T> gpus(std::string_view name, GpuMilli T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "GPUs");
                if (milli) value.*member = GpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) { shown.value = format_gpus(value.*member); }};
}

template <typename T>
Key<T> gpus(std::string_view name, std::optional<GpuMilli> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "GPUs");
                if (milli) value.*member = GpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_gpus((value.*member).value_or(whole_gpus(8)));
            }};
}

template <typename T>
Key<T> cores(std::string_view name, std::optional<CpuMilli> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                const auto milli = read_thousandths(field, "cores");
                if (milli) value.*member = CpuMilli{*milli};
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_cpu((value.*member).value_or(CpuMilli{64'000}));
            }};
}

template <typename T>
Key<T> memory(std::string_view name, std::optional<Bytes> T::* member, std::string_view meaning) {
    return {name, meaning, false,
            [member](const wire::Field& field, T& value) {
                if (const auto bytes = read_size(field, 0, INT64_MAX / 4)) {
                    value.*member = Bytes{*bytes};
                }
            },
            [member](const T& value, Shown& shown) {
                shown.absent = !(value.*member);
                shown.value = format_bytes((value.*member).value_or(Bytes{256 * kGiB}));
            }};
}

}  // namespace

template <>
const std::vector<Key<ModelLimit>>& keys<ModelLimit>() {
    static const std::vector<Key<ModelLimit>> table = {
        required(text("model", &ModelLimit::model, "as in the nodes' label")),
        gpus("guaranteed", &ModelLimit::guaranteed, "GPUs that are served first"),
        gpus("maximum", &ModelLimit::maximum, "most GPUs held; absent: no limit"),
    };
    return table;
}

template <>
const std::vector<Key<QueuePolicy>>& keys<QueuePolicy>() {
    static const std::vector<Key<QueuePolicy>> table = {
        required(text("name", &QueuePolicy::name, "as in job.queue")),
        count("priority", &QueuePolicy::priority, -1'000'000, 1'000'000,
              "queues with more of it are served first"),
        count("weight", &QueuePolicy::weight, 1, 1'000'000,
              "share among queues of equal priority; never an order"),
        order(&QueuePolicy::order),
        gpus("guaranteed", &QueuePolicy::guaranteed,
             "GPUs that are served first; at least what its sub-queues and models are guaranteed"),
        gpus("maximum", &QueuePolicy::maximum, "most GPUs held; absent: the whole pool"),
        gpus("borrowingLimit", &QueuePolicy::borrowing_limit,
             "GPUs above the guarantee; absent: up to the maximum"),
        gpus("lendingLimit", &QueuePolicy::lending_limit,
             "GPUs of the guarantee, and of each model's, that other queues may use while they are "
             "idle; "
             "left "
             "out: all"),
        optional_count("maxJobs", &QueuePolicy::jobs_maximum, 1, 1'000'000,
                       "jobs that run at once; absent: no limit"),
        gpus("maxGpuPerJob", &QueuePolicy::gpus_per_job_maximum, "absent: no limit"),
        list("models", &QueuePolicy::models, ModelLimit{"A100-100G", whole_gpus(2), whole_gpus(4)},
             "guarantee and maximum for single GPU models"),
        budget(&QueuePolicy::budget, "GPU time, including its sub-queues; absent: no limit"),
        sub_queues(),
    };
    return table;
}

template <>
const std::vector<Key<PoolPolicy>>& keys<PoolPolicy>() {
    static const std::vector<Key<PoolPolicy>> table = {
        required(text("name", &PoolPolicy::name, "as in resources.pool")),
        prose("description", &PoolPolicy::description, "for people"),
        pool_policy_name(),
        order(&PoolPolicy::order),
        queue_tree("a queue called default exists anyway"),
        moved<PoolPolicy>("backfill", "has moved to expert.pools[].backfill"),
        section("preemption", &PoolPolicy::preemption, "which pods may be preempted"),
        reserve(),
    };
    return table;
}

template <>
const std::vector<Key<PoolQuota>>& keys<PoolQuota>() {
    static const std::vector<Key<PoolQuota>> table = {
        required(text("pool", &PoolQuota::pool, "the pool")),
        gpus("gpuMaximum", &PoolQuota::gpu_maximum,
             "most GPUs held of it at once; absent: no limit"),
        budget(&PoolQuota::budget, "GPU time there; absent: no limit"),
    };
    return table;
}

template <>
const std::vector<Key<TenantPolicy>>& keys<TenantPolicy>() {
    static const std::vector<Key<TenantPolicy>> table = {
        required(text("name", &TenantPolicy::name, "the namespace")),
        count("weight", &TenantPolicy::weight, 1, 1'000'000, "share inside every queue"),
        gpus("gpuMaximum", &TenantPolicy::gpu_maximum, "over all pools; absent: no limit"),
        cores("cpuMaximum", &TenantPolicy::cpu_maximum, "cores; absent: no limit"),
        memory("memoryMaximum", &TenantPolicy::memory_maximum, "absent: no limit"),
        text("queue", &TenantPolicy::queue,
             "queue of jobs that name none, in pools that have it; \"\": default"),
        list("pools", &TenantPolicy::pools, PoolQuota{"training-pool", whole_gpus(12)},
             "limits in single pools"),
    };
    return table;
}

template <>
const std::vector<Key<Policy>>& keys<Policy>() {
    static const std::vector<Key<Policy>> table = {
        list("tenants", &Policy::tenants,
             TenantPolicy{"team-a",
                          2,
                          whole_gpus(16),
                          CpuMilli{256'000},
                          Bytes{1024 * kGiB},
                          "llm",
                          {PoolQuota{"training-pool", whole_gpus(12)}}},
             "limits of a namespace"),
        count("defaultTenantWeight", &Policy::default_tenant_weight, 1, 1'000'000,
              "of namespaces without an entry"),
        gpus("defaultTenantGpuMaximum", &Policy::default_tenant_gpu_maximum,
             "of namespaces without an entry; absent: no limit"),
        span("gangRepairDeadline", &Policy::gang_repair_deadline, 0, 30 * kMsPerDay,
             "a gang that ran complete and lacks ranks for this long is stopped when jobs fit in "
             "its place, and waits as a whole; 0s: never"),
        count("evictionsPerJobPerHour", &Policy::evictions_per_job_per_hour, 0, 1'000,
              "times a gang, or each pod of another job, may be preempted or moved; 0: never; left "
              "out: as in policy.name"),
        span("runTimeProtected", &Policy::run_time_protected, 0, 30 * kMsPerDay,
             "no job is preempted for this long after its start"),
        count("finishedJobsDetailed", &Policy::finished_jobs_detailed, 0, 100'000,
              "finished jobs stored in full, with pods, YAML, events and (embedded) logs: the "
              "newest ..."),
        count("finishedJobsMaximum", &Policy::finished_jobs_maximum, 0, 1'000'000,
              "... and in all, the older ones as a summary; the oldest above this number are "
              "removed ..."),
        span("finishedJobsRetention", &Policy::finished_jobs_kept_for, kMsPerMinute,
             366 * kMsPerDay, "... and each of them this long after its end, to the minute"),
        maintenance(),
        reservations(),
        choice("drainUnhealthy", &Policy::unhealthy_drain, drains(),
               "which pods are evicted from an unhealthy node, which gets no new pods anyway"),
        moved<Policy>("podsReservedPerNode", "has moved to expert.scheduling.podsReservedPerNode"),
        moved<Policy>("backoffInitial", "has moved to expert.scheduling.backoffInitial"),
        moved<Policy>("backoffMaximum", "has moved to expert.scheduling.backoffMaximum"),
        moved<Policy>("gangBindDeadline", "has moved to expert.scheduling.gangBindDeadline"),
        moved<Policy>("usageHalfLife", "has moved to expert.scheduling.usageHalfLife"),
        moved<Policy>("ageingStep", "has moved to expert.scheduling.ageingStep"),
        moved<Policy>("ageingEvery", "has moved to expert.scheduling.ageingEvery"),
        moved<Policy>("ageingMaximum", "has moved to expert.scheduling.ageingMaximum"),
        moved<Policy>("growthPause", "has moved to expert.scheduling.growthPause"),
        moved<Policy>("resizePaybackTime", "has moved to expert.scheduling.resizePaybackTime"),
        moved<Policy>("planAttemptsMax", "has moved to expert.scheduling.planAttemptsMax"),
    };
    return table;
}

}  // namespace gpuctl::config
