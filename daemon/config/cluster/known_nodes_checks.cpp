// Checks of a whole configuration. Those of pools that need the nodes are possible where the
// section of the backend lists them.

#include <algorithm>
#include <map>
#include <set>

#include "daemon/config/checks.hpp"
#include "daemon/config/cluster/backend_sections.hpp"
#include "daemon/config/known_names.hpp"
#include "policy_document/run_time_rules.hpp"
#include "scheduler/base/ascii.hpp"
#include "scheduler/model/node.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl::config {
namespace {

using NodeGroups = std::vector<EmbeddedNodes>;

bool is_among(const std::vector<std::string>& models, std::string_view model) {
    return std::any_of(models.begin(), models.end(),
                       [model](const std::string& one) { return same_gpu_model(one, model); });
}

// The GPU models of the nodes, by pool and in all.
struct KnownModels {
    std::vector<std::string> all;
    std::map<std::string, std::vector<std::string>> by_pool;  // pools with GPUs
    std::set<std::string> pools;                              // pools with nodes
};

// The models that a pool's queues name must be on its nodes, at any depth. For a pool without nodes
// it is a warning, as the missing nodes are.
void check_models(const wire::Field& list, const KnownModels& known, const std::string& pool) {
    if (!list || !list.json().is_array()) return;
    for (const wire::Field& queue : list.elements()) {
        if (!queue || !queue.json().is_object()) continue;
        wire::Fields fields{queue};
        const wire::Field models = fields.find("models");
        check_models(fields.find("queues"), known, pool);
        if (!models || !models.json().is_array()) continue;
        for (const wire::Field& limit : models.elements()) {
            if (!limit || !limit.json().is_object()) continue;
            const wire::Field at = wire::Fields{limit}.find("model");
            const auto model = at ? at.text() : std::nullopt;
            if (!model) continue;
            const auto here = known.by_pool.find(pool);
            if (here != known.by_pool.end() && is_among(here->second, *model)) continue;
            if (is_among(known.all, *model)) {
                const std::string problem =
                    "no node of pool " + pool + " has a GPU of model " + *model;
                if (known.pools.contains(pool)) {
                    at.error(problem);
                } else {
                    at.warning(problem);
                }
                continue;
            }
            const std::string nearest = wire::nearest_name(*model, known.all);
            at.error("no node has a GPU of model " + *model +
                     (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
    }
}

// The guarantees of queues must fit next to the pool's reserve.
void check_guarantees(const NodeGroups& groups, const PoolPolicy& pool, const wire::Field& field) {
    std::int64_t gpus = 0;
    for (const EmbeddedNodes& nodes : groups) {
        if (nodes.pool == pool.name) gpus += nodes.count * nodes.gpus;
    }
    const GpuMilli total = whole_gpus(gpus);
    const GpuMilli part = whole_gpus(gpus * pool.reserve_percent / 100);
    const GpuMilli reserve = std::max(part, pool.reserve_gpus);
    GpuMilli guaranteed;
    for (const QueuePolicy& queue : pool.queues) {
        if (queue.parent.empty()) guaranteed += queue.guaranteed;
    }
    if (total == GpuMilli{} || guaranteed + reserve <= total) return;
    const bool reserves = reserve > GpuMilli{};
    const wire::Field at = wire::Fields{field}.find(reserves ? "reserve" : "queues");
    const std::string has = "pool " + pool.name + " has " + format_gpus(total) + " GPUs";
    if (guaranteed == GpuMilli{}) {
        return (at ? at : field)
            .error(has + " and cannot reserve " + format_gpus(reserve) + " of them");
    }
    (at ? at : field)
        .error(has + "; " +
               (reserves ? "with " + format_gpus(reserve) + " of them reserved " : "") +
               "its queues cannot be guaranteed " + format_gpus(guaranteed));
}

// The guarantees of a model at the top of the pool: of each queue itself or of its sub-queues.
GpuMilli guaranteed_of(const PoolPolicy& pool, const std::string& parent, std::string_view model) {
    GpuMilli sum;
    for (const QueuePolicy& queue : pool.queues) {
        if (queue.parent != parent || queue.name.empty()) continue;
        GpuMilli own;
        for (const ModelLimit& limit : queue.models) {
            if (same_gpu_model(limit.model, model)) own = limit.guaranteed;
        }
        sum += std::max(own, guaranteed_of(pool, queue.name, model));
    }
    return sum;
}

using GpusByModel = std::map<std::string, std::pair<std::string, std::int64_t>>;

// If a queue has a maximum for each model of the pool, it can hold at most their sum.
void check_model_maxima(const PoolPolicy& pool, const GpusByModel& gpus, const wire::Field& field) {
    for (const QueuePolicy& queue : pool.queues) {
        GpuMilli most;
        bool is_bounded = !gpus.empty();
        for (const auto& [key, of] : gpus) {
            const auto limit = std::find_if(
                queue.models.begin(), queue.models.end(), [&of = of](const ModelLimit& one) {
                    return same_gpu_model(one.model, of.first) && one.maximum;
                });
            is_bounded = is_bounded && limit != queue.models.end();
            if (is_bounded) most += std::min(*limit->maximum, whole_gpus(of.second));
        }
        if (!is_bounded || queue.guaranteed <= most) continue;
        const wire::Field at = wire::Fields{field}.find("queues");
        (at ? at : field)
            .error("queue " + queue.name + " of pool " + pool.name + " is guaranteed " +
                   format_gpus(queue.guaranteed) +
                   " GPUs, and its maxima of GPU models let it hold " + format_gpus(most));
    }
}

void check_model_guarantees(const NodeGroups& groups, const PoolPolicy& pool,
                            const wire::Field& field) {
    GpusByModel gpus;
    for (const EmbeddedNodes& nodes : groups) {
        if (nodes.pool != pool.name || nodes.gpus <= 0) continue;
        auto& [model, count] = gpus[lower_case(nodes.gpu_model)];
        model = nodes.gpu_model;
        count += nodes.count * nodes.gpus;
    }
    for (const auto& [key, of] : gpus) {
        const auto& [model, count] = of;
        const GpuMilli guaranteed = guaranteed_of(pool, "", model);
        if (guaranteed <= whole_gpus(count)) continue;
        const wire::Field at = wire::Fields{field}.find("queues");
        (at ? at : field)
            .error("pool " + pool.name + " has " + std::to_string(count) + " GPUs of model " +
                   model + "; its queues cannot be guaranteed " + format_gpus(guaranteed));
    }
    check_model_maxima(pool, gpus, field);
}

}  // namespace

void check(const Config& config, const wire::Field& field) {
    check_run_time_rules(config, field);
    const NodeGroups* groups = known_nodes(config.cluster);
    if (groups == nullptr) return;
    KnownModels known;
    for (const EmbeddedNodes& nodes : *groups) {
        known.pools.insert(nodes.pool);
        if (nodes.gpus <= 0) continue;
        std::vector<std::string>& of_pool = known.by_pool[nodes.pool];
        if (nodes.gpu_model.empty()) continue;
        known.all.push_back(nodes.gpu_model);
        of_pool.push_back(nodes.gpu_model);
    }
    const wire::Field policy = wire::Fields{field}.find("policy");
    if (!policy || !policy.json().is_object()) return;
    check_known_names(*groups, section_of(config.cluster.mode).nodes_key, config.policy, policy);
    const wire::Field pools = wire::Fields{policy}.find("pools");
    if (!pools || !pools.json().is_array()) return;
    const auto elements = pools.elements();
    for (std::size_t i = 0; i < elements.size(); ++i) {
        if (!elements[i] || !elements[i].json().is_object()) continue;
        if (i >= config.policy.pools.size()) continue;
        const PoolPolicy& pool = config.policy.pools[i];
        check_models(wire::Fields{elements[i]}.find("queues"), known, pool.name);
        check_guarantees(*groups, pool, elements[i]);
        check_model_guarantees(*groups, pool, elements[i]);
    }
}

}  // namespace gpuctl::config
