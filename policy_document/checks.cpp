#include "policy_document/checks.hpp"

#include <algorithm>
#include <set>

#include "policy_document/check_parts.hpp"
#include "policy_document/maintenance_keys.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::config {

void check(const ModelLimit& limit, const wire::Field& field) {
    if (const auto problem = wire::problem_with_label_value(limit.model); !problem.empty()) {
        place_in(field, "model").error("\"" + limit.model + "\" " + problem);
    }
    if (limit.maximum && limit.guaranteed > *limit.maximum) {
        field.error(format_gpus(limit.guaranteed) + " GPUs of model " + limit.model +
                    " are guaranteed, more than the maximum " + format_gpus(*limit.maximum));
    }
}

void check(const QueuePolicy& queue, const wire::Field& field) {
    check_label(field, "name", queue.name);
    for (std::size_t i = 0; i < queue.models.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (!same_gpu_model(queue.models[i].model, queue.models[j].model)) continue;
            place_in(field, "models")
                .error("the GPU model " + queue.models[i].model + " is given twice");
        }
    }
    for (const ModelLimit& of : queue.models) {
        if (!queue.maximum || !of.maximum || *of.maximum <= *queue.maximum) continue;
        place_in(field, "models")
            .error("queue " + queue.name + " may hold " + format_gpus(*of.maximum) +
                   " GPUs of model " + of.model + " at most, more than the " +
                   format_gpus(*queue.maximum) + " that it may hold of all models");
    }
    if (queue.maximum && queue.guaranteed > *queue.maximum) {
        place_in(field, "guaranteed")
            .error("queue " + queue.name + " is guaranteed " + format_gpus(queue.guaranteed) +
                   " GPUs, more than its maximum " + format_gpus(*queue.maximum));
    }
}

// Checks that depend on sub-queues run where those are read (policy_document/queue_keys.cpp).
void check(const PoolPolicy& pool, const wire::Field& field) {
    check_label(field, "name", pool.name);
}

void check(const PoolQuota& quota, const wire::Field& field) {
    check_label(field, "pool", quota.pool);
    if (!quota.gpu_maximum && !quota.budget) {
        field.error("the entry of pool " + quota.pool + " has no limit; give gpuMaximum or budget");
    }
}

void check(const TenantPolicy& tenant, const wire::Field& field) {
    check_label(field, "name", tenant.name);
    check_label(field, "queue", tenant.queue);
    std::set<std::string> pools;
    for (const PoolQuota& quota : tenant.pools) {
        if (!pools.insert(quota.pool).second) {
            place_in(field, "pools").error("the pool " + quota.pool + " is given twice");
        }
        if (!tenant.gpu_maximum || !quota.gpu_maximum) continue;
        if (*quota.gpu_maximum <= *tenant.gpu_maximum) continue;
        place_in(field, "pools")
            .error("tenant " + tenant.name + " may hold " + format_gpus(*quota.gpu_maximum) +
                   " GPUs of pool " + quota.pool + ", more than the " +
                   format_gpus(*tenant.gpu_maximum) + " that it may hold of all pools");
    }
}

void check(const Policy& policy, const wire::Field& field) {
    check_unique(policy.pools, field, "pools", "the pool");
    check_unique(policy.tenants, field, "tenants", "the tenant");
    check_windows(policy, field);
    std::vector<std::string> queues{kDefaultQueue};
    std::set<std::string> inner;
    for (const PoolPolicy& pool : policy.pools) {
        for (const QueuePolicy& queue : pool.queues) {
            queues.push_back(queue.name);
            inner.insert(queue.parent);
        }
    }
    const wire::Field list = place_in(field, "tenants");
    const auto elements = list.json().is_array() ? list.elements() : std::vector<wire::Field>{};
    for (std::size_t i = 0; i < policy.tenants.size(); ++i) {
        const std::string& queue = policy.tenants[i].queue;
        if (!queue.empty() && inner.contains(queue)) {
            (i < elements.size() ? elements[i] : field)
                .error("queue " + queue + " of tenant " + policy.tenants[i].name +
                       " holds queues, not jobs");
        }
        if (queue.empty() || std::find(queues.begin(), queues.end(), queue) != queues.end()) {
            continue;
        }
        const std::string nearest = wire::nearest_name(queue, queues);
        const wire::Field& at = i < elements.size() ? elements[i] : field;
        at.error("no pool has the queue " + queue + " of tenant " + policy.tenants[i].name +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
}

}  // namespace gpuctl::config
