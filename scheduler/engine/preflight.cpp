// Checks whether a job could ever start, before the job is accepted, so that a mistake is reported
// at once.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "scheduler/engine/views.hpp"
#include "scheduler/model/gpu/devices.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// The number of pods that fit on the node when it is empty; capped at `enough`.
std::int64_t fitting_empty(const Resources& offered, const Resources& asked,
                           std::int64_t pod_slots_reserved, std::int64_t enough) {
    std::int64_t fits =
        std::min(enough, std::max<std::int64_t>(offered.pods - pod_slots_reserved, 0));
    const auto limit = [&fits](std::int64_t has, std::int64_t needs) {
        if (needs > 0) fits = std::min(fits, std::max<std::int64_t>(has, 0) / needs);
    };
    limit(offered.cpu.value(), asked.cpu.value());
    limit(offered.memory.value(), asked.memory.value());
    for (const GpuAmount& gpu : asked.gpus) {
        const auto has =
            std::find_if(offered.gpus.begin(), offered.gpus.end(),
                         [&gpu](const GpuAmount& offer) { return offer.resource == gpu.resource; });
        const std::int64_t milli = has == offered.gpus.end() ? 0 : has->amount.value();
        if (is_part_of_gpu(gpu.amount)) {  // a fraction has to fit on one device
            limit(milli / kGpuMilliPerGpu * (kGpuMilliPerGpu / gpu.amount.value()), 1);
        } else {
            limit(milli, gpu.amount.value());
        }
    }
    return fits;
}

// The part of the request that is offered, in thousandths, for the resource with the smallest part.
std::int64_t part_offered(const Resources& offered, const Resources& asked) {
    constexpr std::int64_t kWhole = 1'000;
    std::int64_t least = kWhole;
    const auto look = [&least](std::int64_t has, std::int64_t needs) {
        if (needs > has) least = std::min(least, std::max<std::int64_t>(has, 0) * kWhole / needs);
    };
    look(offered.cpu.value(), asked.cpu.value());
    look(offered.memory.value(), asked.memory.value());
    for (const GpuAmount& gpu : asked.gpus) {
        std::int64_t has = 0;
        for (const GpuAmount& one : offered.gpus) {
            if (one.resource == gpu.resource) has = one.amount.value();
        }
        look(has, gpu.amount.value());
    }
    return least;
}

// True if all pods together request more than `most`; multiplied without overflow.
bool exceeds(std::int64_t most, std::int64_t each, std::int64_t pods) {
    return each > 0 && each > most / pods;
}

std::int64_t asked_of(LimitUnit unit, const Resources& each) {
    switch (unit) {
        case LimitUnit::gpus:
            return gpus_total(each).value();
        case LimitUnit::cpu:
            return each.cpu.value();
        case LimitUnit::memory:
            return each.memory.value();
        case LimitUnit::jobs:
        case LimitUnit::gpu_time:
            break;
    }
    return 0;
}

// The holder of the limit, and the part that is reserved for other jobs.
void set_holder(const LimitRow& row, const LimitEverAt& at, const LimitEver& ever,
                refusal::LimitTooLow& out) {
    const std::string& pool = at.state.pool(at.pool).name;
    out.reserved = ever.reserved;
    out.reserved_of = ever.of;
    out.is_lending = row.is_lending;
    out.is_per_job = row.freed == LimitFreed::by_nothing;
    if (row.is_lending) {
        out.holder = {at.state.tree.queue_path(at.leaf), "", pool};
        if (at.queue.exists()) out.lender = at.state.tree.queue_path(at.queue);
        return;
    }
    switch (row.scope) {
        case LimitScope::queue:
        case LimitScope::queue_model:
            out.holder = {at.state.tree.queue_path(at.queue), "", pool};
            return;
        case LimitScope::pool:
        case LimitScope::pool_model:
            out.holder.pool = pool;
            return;
        case LimitScope::tenant:
            if (at.tenant == nullptr) return;
            out.holder.tenant = at.tenant->name;
            if (row.is_of_one_pool) out.holder.pool = pool;
            return;
    }
}

// The model of all GPUs of the pool; empty: no GPUs, or several models.
std::string only_model(const ClusterState& state, PoolId pool) {
    std::string model;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        const bool has_gpus = gpus_total(node.facts.allocatable) > GpuMilli{};
        if (!node.known || node.pool != pool || !has_gpus) continue;
        if (!model.empty() && !same_gpu_model(model, node.facts.gpu_model)) return "";
        if (node.facts.gpu_model.empty()) return "";
        model = node.facts.gpu_model;
    }
    return model;
}

std::optional<Refusal> check_limits(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                    QueueId queue, const Resources& each, std::int64_t pods) {
    LimitEverAt job{.state = state, .spec = spec, .pool = pool, .leaf = queue};
    for (const TenantPolicy& tenant : state.policy().tenants) {
        if (tenant.name == spec.key.namespace_name) job.tenant = &tenant;
    }
    const std::string model =
        gpu_model_of(spec).empty() ? only_model(state, pool) : gpu_model_of(spec);
    if (spec.gpu_types_next.empty()) job.model = model;  // otherwise the job may use another model
    std::optional<Refusal> refused;
    visit_limits_ever(job, [&](const LimitRow& row, const LimitEverAt& at, const LimitEver& ever) {
        const std::int64_t asked = asked_of(row.unit, each);
        if (!exceeds(ever.most, asked, pods)) return true;
        refusal::LimitTooLow low;
        low.pods = pods;
        low.each = asked;
        low.unit = row.unit;
        low.most = ever.most;
        if (at.holding != nullptr && row.scope == LimitScope::queue_model) {
            low.model = at.holding->limit.model;
        }
        set_holder(row, at, ever, low);
        refused = Refusal{ErrorCode::QuotaExceeded, std::move(low)};
        return false;
    });
    return refused;
}

// True if the job requests a slice and the node offers slices: the error names these.
bool has_slices_as(const Resources& offered, const Resources& asked) {
    const auto is_slice = [](const GpuAmount& gpu) {
        return gpu.amount > GpuMilli{} && is_mig_resource(gpu.resource);
    };
    return std::any_of(asked.gpus.begin(), asked.gpus.end(), is_slice) &&
           std::any_of(offered.gpus.begin(), offered.gpus.end(), is_slice);
}

// Checks whether the pool would have room if its nodes were empty, by GPU model and by size.
std::optional<Refusal> check_nodes(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                   const Resources& each, std::int64_t pods) {
    PlacementRules rules;
    set_gpu_models(spec, rules);
    std::int64_t fits = 0;
    std::map<std::string, std::int64_t> fits_of_model;  // a gang uses one model
    const NodeFacts* largest = nullptr;                 // the node that offers most of the request
    std::set<std::string> models;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known || node.pool != pool) continue;
        const auto size = [&each](const NodeFacts& facts) {
            return std::tuple{part_offered(facts.allocatable, each),
                              has_slices_as(facts.allocatable, each), gpus_total(facts.allocatable),
                              facts.allocatable.cpu, facts.allocatable.memory};
        };
        if (!node.facts.gpu_model.empty()) models.insert(node.facts.gpu_model);
        if (!matches_gpu_model(rules, node.facts) || !has_whole_gpus(rules, node.facts)) continue;
        if (largest == nullptr || size(*largest) < size(node.facts)) largest = &node.facts;
        std::int64_t& sum =
            rules.takes_several_models() ? fits_of_model[node.facts.gpu_model] : fits;
        sum += fitting_empty(node.facts.allocatable, each,
                             state.nodes.capacity().pod_slots_reserved(), pods);
    }
    for (const auto& [model, ranks] : fits_of_model) fits = std::max(fits, ranks);
    if (fits >= pods) return std::nullopt;
    const std::string& pool_name = state.pool(pool).name;
    const refusal::Request request{pods, each};
    if (largest == nullptr) {
        const bool is_any = rules.gpu_model.empty();
        return Refusal{ErrorCode::NeverFits,
                       refusal::NoGpuModel{request, pool_name,
                                           is_any ? std::vector<std::string>{} : gpu_models(rules),
                                           std::vector<std::string>(models.begin(), models.end()),
                                           std::string{mig_profile_in_model(rules.gpu_model)}}};
    }
    return Refusal{ErrorCode::NeverFits, refusal::NodesTooSmall{request, pool_name, largest->name,
                                                                largest->allocatable, fits}};
}

// Finds the domain that the ranks may share with room for most ranks if its nodes were empty.
// Returns its name and that number of ranks.
std::pair<std::string, std::int64_t> roomiest_domain(const ClusterState& state, const JobSpec& spec,
                                                     PoolId pool, const Resources& each,
                                                     std::int64_t pods) {
    const TopologyLevel together = spec.topology.required;
    const TopologyLevel apart = spec.topology.spread;
    PlacementRules rules;
    set_gpu_models(spec, rules);
    std::map<std::string, std::int64_t> room;
    std::set<std::pair<std::string, std::string>> counted;  // at most one rank is placed in each
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known || node.pool != pool) continue;
        if (!matches_gpu_model(rules, node.facts) || !has_whole_gpus(rules, node.facts)) continue;
        const NodeTopology& topology = node.facts.topology;
        const std::string all = together == TopologyLevel::none ? "" : topology.of(together);
        if (together != TopologyLevel::none && all.empty()) continue;
        const std::int64_t fits = fitting_empty(node.facts.allocatable, each,
                                                state.nodes.capacity().pod_slots_reserved(), pods);
        if (apart == TopologyLevel::none) {
            room[all] += fits;
        } else if (fits > 0 && !topology.of(apart).empty()) {
            if (counted.insert({all, topology.of(apart)}).second) ++room[all];
        }
    }
    std::pair<std::string, std::int64_t> best;
    for (const auto& [name, ranks] : room) {
        if (best.second < ranks) best = {name, ranks};
    }
    return best;
}

std::optional<Refusal> check_topology(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                      const Resources& each, std::int64_t pods) {
    const TopologyRules& rules = spec.topology;
    // For a single rank the spread rule is always met, but its required domain has to exist.
    const bool is_apart = rules.spread == TopologyLevel::none || pods == 1;
    if (rules.required == TopologyLevel::none && is_apart) return std::nullopt;
    const auto [best, fits] = roomiest_domain(state, spec, pool, each, pods);
    if (fits >= pods) return std::nullopt;
    return Refusal{
        ErrorCode::NeverFits,
        refusal::TopologyTooNarrow{{pods, each},
                                   rules.spread,
                                   rules.required,
                                   rules.required == TopologyLevel::none ? std::string{} : best,
                                   state.pool(pool).name,
                                   fits}};
}

bool is_below(const ClusterState& state, QueueId queue, QueueId above) {
    while (queue.exists() && queue != above) queue = state.queue(queue).parent;
    return queue.exists();
}

}  // namespace

std::optional<Refusal> preflight(const ClusterState& state, const JobSpec& spec) {
    const std::string pool_name = spec.pool.empty() ? kDefaultPool : spec.pool;
    const PoolId pool = state.tree.find_pool(pool_name);
    if (!pool.exists()) {
        fact::PoolUnknown unknown{pool_name, {}};
        for (const auto& [name, id] : state.tree.pools_by_name()) {
            if (state.tree.pool_exists(id)) unknown.pools.push_back(name);
        }
        return Refusal{ErrorCode::PoolNotFound, std::move(unknown)};
    }
    std::string queue_name = spec.queue;
    for (const TenantPolicy& tenant : state.policy().tenants) {
        const bool is_meant = spec.queue.empty() && tenant.name == spec.key.namespace_name;
        if (is_meant && state.tree.find_queue(pool, tenant.queue).exists())
            queue_name = tenant.queue;
    }
    if (queue_name.empty()) queue_name = kDefaultQueue;
    const QueueId queue = state.tree.find_queue(pool, queue_name);
    if (!queue.exists() || !state.queue(queue).children.empty()) {
        std::vector<std::string> leaves;
        for (const QueueId id : state.pool(pool).queues) {
            const bool is_meant = !queue.exists() || is_below(state, id, queue);
            if (is_meant && state.queue(id).children.empty())
                leaves.push_back(state.queue(id).name);
        }
        if (queue.exists()) {
            return Refusal{ErrorCode::QueueNotFound,
                           fact::QueueHoldsQueues{queue_name, pool_name, std::move(leaves)}};
        }
        return Refusal{ErrorCode::QueueNotFound,
                       fact::QueueUnknown{queue_name, pool_name, std::move(leaves)}};
    }
    if (state.pool(pool).nodes == 0) {
        return Refusal{ErrorCode::PoolEmpty, refusal::PoolWithoutNodes{pool_name}};
    }
    const Resources each = pod_request(spec);
    const bool is_service = spec.kind == JobKind::inference || spec.kind == JobKind::compute;
    const std::int64_t pods =
        // the smallest size that can start
        std::max<std::int64_t>(is_service ? 1 : spec.replicas_min, 1);
    if (auto refused = check_limits(state, spec, pool, queue, each, pods)) return refused;
    if (auto refused = check_nodes(state, spec, pool, each, pods)) return refused;
    return check_topology(state, spec, pool, each, pods);
}

}  // namespace gpuctl
