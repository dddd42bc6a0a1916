// Would this job ever start? Asked before it is taken, so that a mistake is said at once.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "scheduler/engine/views.hpp"
#include "scheduler/model/devices.hpp"
#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/model/mig.hpp"
#include "scheduler/model/quantity.hpp"
#include "scheduler/policy/filter.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

std::string describe(const Resources& resources) {
    std::string text;
    for (const GpuAmount& gpu : resources.gpus) {
        text += format_gpus(gpu.amount) + " " + gpu.resource + ", ";
    }
    return text + format_cpu(resources.cpu) + " CPU, " + format_bytes(resources.memory) + " memory";
}

// How many pods fit on the node when it is empty; capped at `enough`.
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
        if (is_part_of_gpu(gpu.amount)) {  // each device by itself
            limit(milli / kGpuMilliPerGpu * (kGpuMilliPerGpu / gpu.amount.value()), 1);
        } else {
            limit(milli, gpu.amount.value());
        }
    }
    return fits;
}

// Of what is asked for, in thousandths of the resource of which the node has least.
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

// All its pods together, in multiplication that cannot overflow.
template <typename Amount>
bool exceeds(const std::optional<Amount>& limit, Amount each, std::int64_t pods) {
    return limit && each.value() > 0 && each.value() > limit->value() / pods;
}

Error over_limit(std::int64_t pods, const std::string& each, const std::string& holder,
                 const std::string& limit) {
    return make_error(ErrorCode::QuotaExceeded,
                      "the job needs " + std::to_string(pods) + (pods == 1 ? " pod" : " pods") +
                          " of " + each + "; " + holder + " may never hold more than " + limit);
}

// Which all of the pool's GPUs are of; empty: of none, or of several.
std::string only_model(const ClusterState& state, PoolId pool) {
    std::string model;
    for (const auto& [name, id] : state.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        const bool has_gpus = gpus_total(node.facts.allocatable) > GpuMilli{};
        if (!node.known || node.pool != pool || !has_gpus) continue;
        if (!model.empty() && !same_gpu_model(model, node.facts.gpu_model)) return "";
        if (node.facts.gpu_model.empty()) return "";
        model = node.facts.gpu_model;
    }
    return model;
}

// Of its guarantee, and of those below it, even while all of them are idle.
GpuMilli keeps_idle(const ClusterState& state, QueueId id) {
    GpuMilli below;
    for (const QueueId child : state.queue(id).children) below += keeps_idle(state, child);
    return std::max(state.queue(id).keeps, below);
}

GpuMilli kept_beside(const ClusterState& state, const std::vector<QueueId>& all, QueueId but) {
    GpuMilli sum;
    for (const QueueId id : all) {
        if (id != but) sum += keeps_idle(state, id);
    }
    return sum;
}

GpuMilli gpus_of_nodes(const ClusterState& state, PoolId pool) {
    GpuMilli sum;
    for (const auto& [name, id] : state.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (node.known && node.pool == pool) sum += gpus_total(node.facts.allocatable);
    }
    return sum;
}

// Even when nobody else holds anything: others keep that much back.
std::optional<Error> check_kept(const ClusterState& state, PoolId pool, QueueId queue,
                                GpuMilli gpus, std::int64_t pods) {
    const auto check = [&](GpuMilli most, GpuMilli kept,
                           const std::string& holder) -> std::optional<Error> {
        const std::optional left{std::max(most - kept, GpuMilli{})};
        if (kept == GpuMilli{} || !exceeds(left, gpus, pods)) return std::nullopt;
        return over_limit(pods, format_gpus(gpus) + " GPUs",
                          "beside the " + format_gpus(kept) + " of " + format_gpus(most) +
                              " GPUs that queues of " + holder + " do not lend, queue " +
                              state.queue_path(queue),
                          format_gpus(*left));
    };
    GpuMilli kept;
    QueueId below = QueueId::none();
    for (QueueId id = queue; id.exists(); id = state.queue(id).parent) {
        const QueueRow& row = state.queue(id);
        if (below.exists()) kept += kept_beside(state, row.children, below);
        below = id;
        if (!row.cap()) continue;
        if (auto error = check(*row.cap(), kept, "queue " + state.queue_path(id))) return error;
    }
    const PoolRow& whole = state.pool(pool);
    kept += kept_beside(state, whole.roots, below);
    return check(gpus_of_nodes(state, pool), kept, "pool " + whole.name);
}

std::optional<Error> check_limits(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                  QueueId queue, const Resources& each, std::int64_t pods) {
    const GpuMilli gpus = gpus_total(each);
    const std::string gpus_text = format_gpus(gpus) + " GPUs";
    const std::string model =
        gpu_model_of(spec).empty() ? only_model(state, pool) : gpu_model_of(spec);
    for (QueueId id = queue; id.exists(); id = state.queue(id).parent) {
        const QueueRow& row = state.queue(id);
        const std::string holder =
            "queue " + state.queue_path(id) + " of pool " + state.pool(pool).name;
        if (const auto cap = row.cap(); exceeds(cap, gpus, pods)) {
            return over_limit(pods, gpus_text, holder, format_gpus(*cap));
        }
        for (const ModelHolding& of : row.models) {
            if (!spec.gpu_types_next.empty()) break;  // another model may do
            if (same_gpu_model(of.limit.model, model) && exceeds(of.limit.maximum, gpus, pods)) {
                return over_limit(pods, gpus_text, holder,
                                  format_gpus(*of.limit.maximum) + " of model " + of.limit.model);
            }
        }
        if (exceeds(row.gpus_per_job_maximum, gpus, pods)) {
            return over_limit(pods, gpus_text, "a job of " + holder,
                              format_gpus(*row.gpus_per_job_maximum));
        }
    }
    if (auto error = check_kept(state, pool, queue, gpus, pods)) return error;
    const PoolRow& whole = state.pool(pool);
    const std::optional most{whole.offered.gpus - whole.reserve()};
    if (whole.reserve() > GpuMilli{} && !grows_with_demand(spec, 0) && exceeds(most, gpus, pods)) {
        return over_limit(pods, gpus_text,
                          "work beside the reserve of " + format_gpus(whole.reserve()) +
                              " GPUs of pool " + whole.name,
                          format_gpus(*most));
    }
    const auto& otherwise = state.policy().default_tenant_gpu_maximum;
    for (const TenantPolicy& tenant : state.policy().tenants) {
        if (tenant.name != spec.key.namespace_name) continue;
        const std::string holder = "namespace " + tenant.name;
        const auto gpu_limit = tenant.gpu_maximum ? tenant.gpu_maximum : otherwise;
        if (exceeds(gpu_limit, gpus, pods)) {
            return over_limit(pods, gpus_text, holder, format_gpus(*gpu_limit));
        }
        for (const PoolQuota& quota : tenant.pools) {
            if (quota.pool != state.pool(pool).name) continue;
            if (exceeds(quota.gpu_maximum, gpus, pods)) {
                return over_limit(pods, gpus_text, holder + " in pool " + quota.pool,
                                  format_gpus(*quota.gpu_maximum));
            }
        }
        if (exceeds(tenant.cpu_maximum, each.cpu, pods)) {
            return over_limit(pods, format_cpu(each.cpu) + " CPU", holder,
                              format_cpu(*tenant.cpu_maximum) + " CPU");
        }
        if (exceeds(tenant.memory_maximum, each.memory, pods)) {
            return over_limit(pods, format_bytes(each.memory) + " memory", holder,
                              format_bytes(*tenant.memory_maximum) + " memory");
        }
        return std::nullopt;
    }
    if (exceeds(otherwise, gpus, pods)) {
        return over_limit(pods, gpus_text, "a namespace", format_gpus(*otherwise));
    }
    return std::nullopt;
}

std::string model_text(const PlacementRules& rules) {
    std::string text;
    for (const std::string& model : gpu_models(rules)) text += (text.empty() ? "" : " or ") + model;
    return text;
}

// Its nodes call a whole GPU by that name only where all are cut alike (MIG strategy single).
std::string slice_hint(std::string_view gpu_model) {
    const std::string_view profile = mig_profile_in_model(gpu_model);
    if (profile.empty()) return "";
    return "; of GPUs that are cut into slices one asks for gpu: \"1(mig-" + std::string{profile} +
           ")\"";
}

// Who asks for a slice is told of slices there are.
bool has_slices_as(const Resources& offered, const Resources& asked) {
    const auto is_slice = [](const GpuAmount& gpu) {
        return gpu.amount > GpuMilli{} && is_mig_resource(gpu.resource);
    };
    return std::any_of(asked.gpus.begin(), asked.gpus.end(), is_slice) &&
           std::any_of(offered.gpus.begin(), offered.gpus.end(), is_slice);
}

// Is there room on the pool's nodes were they empty, by model and by size?
std::optional<Error> check_nodes(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                 const Resources& each, std::int64_t pods) {
    PlacementRules rules;
    set_gpu_models(spec, rules);
    std::int64_t fits = 0;
    std::map<std::string, std::int64_t> fits_of_model;  // a gang is on one
    const NodeFacts* largest = nullptr;  // that which offers most of what is asked for
    std::set<std::string> models;
    for (const auto& [name, id] : state.nodes_by_name()) {
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
        sum += fitting_empty(node.facts.allocatable, each, state.capacity().pod_slots_reserved(),
                             pods);
    }
    for (const auto& [model, ranks] : fits_of_model) fits = std::max(fits, ranks);
    if (fits >= pods) return std::nullopt;
    const std::string needs =
        "the job needs " +
        (pods == 1 ? describe(each)
                   : "room for " + std::to_string(pods) + " ranks of " + describe(each) + " each");
    const std::string& pool_name = state.pool(pool).name;
    if (largest == nullptr) {
        std::string known;
        for (const std::string& model : models) known += (known.empty() ? "" : ", ") + model;
        const std::string wanted =
            rules.gpu_model.empty() ? "whole GPUs" : "a GPU of model " + model_text(rules);
        return make_error(ErrorCode::NeverFits,
                          needs + "; no node of pool " + pool_name + " has " + wanted +
                              "; there are: " + (known.empty() ? "none" : known) +
                              slice_hint(rules.gpu_model));
    }
    return make_error(
        ErrorCode::NeverFits,
        needs + "; the largest node of pool " + pool_name + " (" + largest->name + ") offers " +
            describe(largest->allocatable) +
            (fits > 0 ? ", and the pool has room for " + std::to_string(fits) + " even when empty"
                      : ""));
}

// Of the domains that ranks may stand together in, the one with room for most of them were the
// nodes empty, and for how many.
std::pair<std::string, std::int64_t> roomiest_domain(const ClusterState& state, const JobSpec& spec,
                                                     PoolId pool, const Resources& each,
                                                     std::int64_t pods) {
    const TopologyLevel together = spec.topology.required;
    const TopologyLevel apart = spec.topology.spread;
    PlacementRules rules;
    set_gpu_models(spec, rules);
    std::map<std::string, std::int64_t> room;
    std::set<std::pair<std::string, std::string>> counted;  // one rank in each is all that may be
    for (const auto& [name, id] : state.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (!node.known || node.pool != pool) continue;
        if (!matches_gpu_model(rules, node.facts) || !has_whole_gpus(rules, node.facts)) continue;
        const NodeTopology& stands = node.facts.topology;
        const std::string all = together == TopologyLevel::none ? "" : stands.of(together);
        if (together != TopologyLevel::none && all.empty()) continue;
        const std::int64_t fits = fitting_empty(node.facts.allocatable, each,
                                                state.capacity().pod_slots_reserved(), pods);
        if (apart == TopologyLevel::none) {
            room[all] += fits;
        } else if (fits > 0 && !stands.of(apart).empty()) {
            if (counted.insert({all, stands.of(apart)}).second) ++room[all];
        }
    }
    std::pair<std::string, std::int64_t> best;
    for (const auto& [name, ranks] : room) {
        if (best.second < ranks) best = {name, ranks};
    }
    return best;
}

std::optional<Error> check_topology(const ClusterState& state, const JobSpec& spec, PoolId pool,
                                    const Resources& each, std::int64_t pods) {
    const TopologyRules& rules = spec.topology;
    // One alone is apart from all others, but what it is to be in has to be there.
    const bool is_apart = rules.spread == TopologyLevel::none || pods == 1;
    if (rules.required == TopologyLevel::none && is_apart) return std::nullopt;
    const auto [best, fits] = roomiest_domain(state, spec, pool, each, pods);
    if (fits >= pods) return std::nullopt;
    std::string needs = "the job needs ";
    needs += pods == 1
                 ? describe(each)
                 : "room for " + std::to_string(pods) + " ranks of " + describe(each) + " each";
    if (rules.spread != TopologyLevel::none) {
        needs += ", no two in one " + std::string{to_string(rules.spread)};
    }
    if (rules.required != TopologyLevel::none) {
        const std::string level{to_string(rules.required)};
        needs += ", within one " + level;
        if (!best.empty()) needs += "; " + level + " " + best + " has most";
    }
    return make_error(
        ErrorCode::NeverFits,
        needs + "; pool " + state.pool(pool).name +
            (pods == 1 ? " has no such node" : " has room for " + std::to_string(fits)) +
            " even when empty");
}

}  // namespace

std::optional<Error> preflight(const ClusterState& state, const JobSpec& spec) {
    const std::string pool_name = spec.pool.empty() ? kDefaultPool : spec.pool;
    const PoolId pool = state.find_pool(pool_name);
    if (!pool.exists()) {
        std::string known;
        for (const auto& [name, id] : state.pools_by_name()) {
            if (state.pool_exists(id)) known += (known.empty() ? "" : ", ") + name;
        }
        return make_error(ErrorCode::PoolNotFound,
                          "pool " + pool_name + " does not exist; there are: " + known);
    }
    std::string queue_name = spec.queue;
    for (const TenantPolicy& tenant : state.policy().tenants) {
        const bool is_meant = spec.queue.empty() && tenant.name == spec.key.namespace_name;
        if (is_meant && state.find_queue(pool, tenant.queue).exists()) queue_name = tenant.queue;
    }
    if (queue_name.empty()) queue_name = kDefaultQueue;
    const QueueId queue = state.find_queue(pool, queue_name);
    if (!queue.exists() || !state.queue(queue).children.empty()) {
        std::string known;
        for (const QueueId id : state.pool(pool).queues) {
            if (!state.queue(id).children.empty()) continue;
            known += (known.empty() ? "" : ", ") + state.queue(id).name;
        }
        return make_error(ErrorCode::QueueNotFound,
                          "queue " + queue_name +
                              (queue.exists() ? " of pool " + pool_name + " holds queues, not jobs"
                                              : " does not exist in pool " + pool_name) +
                              "; there are: " + known);
    }
    if (state.pool(pool).nodes == 0) {
        return make_error(ErrorCode::PoolEmpty, "pool " + pool_name + " has no node");
    }
    const Resources each = pod_request(spec);
    const bool is_service = spec.kind == JobKind::inference || spec.kind == JobKind::compute;
    const std::int64_t pods =
        std::max<std::int64_t>(is_service ? 1 : spec.replicas_min, 1);  // what must start together
    if (auto error = check_limits(state, spec, pool, queue, each, pods)) return error;
    if (auto error = check_nodes(state, spec, pool, each, pods)) return error;
    return check_topology(state, spec, pool, each, pods);
}

}  // namespace gpuctl
