#include "scheduler/state/accounts/limits/limit_figures.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/accounts/budget_book.hpp"

namespace gpuctl::limits {

std::optional<LimitFigures> budget_figures(const Budget* budget, const LimitAt& at,
                                           GpuTime released_usage) {
    if (budget == nullptr) return std::nullopt;
    const Spending& spending = budget->spending;
    const Instant now = at.state.now();
    GpuTime held = spending.used(now);
    if (!has_fault(SeededFault::spend_without_committing))
        held += spending.committed(now) - released_usage;
    return LimitFigures{(budget->policy.amount + spending.carried()).value(), held.value(),
                        spending.needed(at.ask.gpus, at.job.run.time_max, now).value()};
}

bool would_grow(const ClusterState& state, const JobRow& job, std::int64_t pods_held) {
    if (!job.record) return false;
    std::optional<std::int32_t> first;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool waits =
            pod.bind.state == BindState::waiting || pod.bind.state == BindState::nominated;
        if (waits) first = std::min(first.value_or(pod.facts.rank), pod.facts.rank);
    }
    const auto next = static_cast<std::int32_t>(std::min<std::int64_t>(pods_held, INT32_MAX));
    return grows_with_demand(job.record->spec, first.value_or(next));
}

std::optional<LimitFigures> reserve_figures(const LimitAt& at) {
    const PoolRow& pool = at.state.pool(at.job.pool);
    const GpuMilli reserve = pool.reserve();
    if (reserve == GpuMilli{} || would_grow(at.state, at.job, at.pods_held)) return std::nullopt;
    GpuMilli held = pool.held - pool.held_by_growing;
    if (at.released) held -= at.released->of_the_rest(at.job.pool);
    return LimitFigures{(pool.offered.gpus - reserve).value(), held.value(), at.ask.gpus.value()};
}

std::optional<LimitFigures> pool_lending_figures(const LimitAt& at) {
    const PoolRow& pool = at.state.pool(at.job.pool);
    GpuMilli reserved = pool.held_or_reserved;
    GpuMilli held = pool.held;
    GpuMilli grows = at.grows;
    if (at.released) {
        reserved = grows = GpuMilli{};
        for (const QueueId root : pool.roots) {
            const GpuMilli without =
                at.released->held_or_reserved(at.state, root, at.job.queue, GpuMilli{});
            reserved += without;
            held -= at.released->of_queue(root).gpus;
            grows +=
                at.released->held_or_reserved(at.state, root, at.job.queue, at.ask.gpus) - without;
        }
    }
    // A pool without GPUs reserves none: the job waits for nodes.
    if (pool.offered.gpus <= GpuMilli{}) return std::nullopt;
    if (reserved <= held &&
        !ReleasedUsage::reserves_without_nominations(at.state, pool, at.released))
        return std::nullopt;
    return LimitFigures{pool.offered.gpus.value(), reserved.value(), at.ask.gpus.value(),
                        grows.value()};
}

namespace {

GpuMilli reserved_of_model_below(const ClusterState& state, QueueId id, std::string_view model,
                                 QueueId leaf, GpuMilli more, const ReleasedUsage* released,
                                 Counted counted) {
    const QueueRow& queue = state.queue(id);
    GpuMilli reserved;
    for (const QueueId child : queue.children) {
        reserved += reserved_of_model_below(state, child, model, leaf, more, released, counted);
    }
    for (const ModelHolding& of : queue.models) {
        if (of.not_lent == GpuMilli{} || !same_gpu_model(of.limit.model, model)) continue;
        GpuMilli held = of.held - (released ? released->of_model(id, model) : GpuMilli{});
        if (counted == Counted::without_nominations) {
            held -=
                of.nominated - (released ? released->nominated_of_model(id, model) : GpuMilli{});
        }
        for (QueueId up = leaf; up.exists(); up = state.queue(up).parent) {
            if (up == id) held += more;
        }
        reserved = std::max(reserved, of.not_lent - held);
    }
    return reserved;
}

// A nomination may be withdrawn. Then other jobs would hold what was lent because of it.
bool is_reserved_without_nominations(const ClusterState& state, PoolId pool, const ModelRoom& room,
                                     const ReleasedUsage* released) {
    if (state.nominations.nominated_jobs().empty()) return false;
    return reserved_of_model(state, pool, room.model, QueueId::none(), GpuMilli{}, released,
                             Counted::without_nominations) > GpuMilli{};
}

}  // namespace

GpuMilli reserved_of_model(const ClusterState& state, PoolId pool, std::string_view model,
                           QueueId leaf, GpuMilli more, const ReleasedUsage* released,
                           Counted counted) {
    GpuMilli reserved;
    for (const QueueId root : state.pool(pool).roots) {
        reserved += reserved_of_model_below(state, root, model, leaf, more, released, counted);
    }
    return reserved;
}

bool reserves_idle(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    return reserved_of_model(state, pool, room.model, QueueId::none(), GpuMilli{}, nullptr) >
               GpuMilli{} ||
           is_reserved_without_nominations(state, pool, room, nullptr);
}

std::optional<LimitFigures> model_lending_figures(const ClusterState& state, const JobRow& job,
                                                  const ModelRoom& room, GpuMilli ask,
                                                  const ReleasedUsage* released) {
    const GpuMilli reserved =
        reserved_of_model(state, job.pool, room.model, job.queue, GpuMilli{}, released);
    const bool is_any =
        room.offered > GpuMilli{} &&
        (reserved > GpuMilli{} || is_reserved_without_nominations(state, job.pool, room, released));
    if (!is_any) return std::nullopt;
    const GpuMilli then = reserved_of_model(state, job.pool, room.model, job.queue, ask, released);
    const GpuMilli held =
        room.held - (released ? released->of_model(job.pool, room.model) : GpuMilli{});
    return LimitFigures{room.offered.value(), (held + reserved).value(),
                        (ask + then - reserved).value()};
}

bool crosses_model_lending(const ClusterState& state, const JobRow& job, const ModelRoom& room,
                           GpuMilli ask, const ReleasedUsage* released) {
    const auto figures = model_lending_figures(state, job, room, ask, released);
    return figures && figures->are_crossed();
}

const PlacementRules& rules_of(const ClusterState& state, const JobRow& job) {
    return state.rules_of(state.shape_of(job.pods.front()));
}

bool leaves_other_models(const ClusterState& state, const JobRow& job,
                         const std::vector<std::string_view>& barred) {
    const PlacementRules& rules = rules_of(state, job);
    const auto& nodes = state.nodes.nodes_by_name();
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
        const NodeRow& node = state.node(entry.second);
        const std::string& model = node.facts.gpu_model;
        return node.known && node.pool == job.pool && takes_gpu_model(rules, model) &&
               gpus_total(node.facts.allocatable) > GpuMilli{} && !is_model_among(barred, model);
    });
}

namespace {

// What the queue does not lend while it and all queues below it are idle: of its own guarantee, or
// of the guarantees below it.
GpuMilli reserved_by_idle(const ClusterState& state, QueueId id) {
    GpuMilli below;
    for (const QueueId child : state.queue(id).children) below += reserved_by_idle(state, child);
    return std::max(state.queue(id).not_lent, below);
}

GpuMilli reserved_by_siblings(const ClusterState& state, const std::vector<QueueId>& all,
                              QueueId but) {
    GpuMilli sum;
    for (const QueueId id : all) {
        if (id != but) sum += reserved_by_idle(state, id);
    }
    return sum;
}

}  // namespace

GpuMilli reserved_when_idle(const ClusterState& state, PoolId pool, QueueId leaf, QueueId top) {
    GpuMilli reserved;
    QueueId below = QueueId::none();
    for (QueueId id = leaf; id.exists(); id = state.queue(id).parent) {
        if (below.exists())
            reserved += reserved_by_siblings(state, state.queue(id).children, below);
        if (id == top) return reserved;
        below = id;
    }
    return reserved + reserved_by_siblings(state, state.pool(pool).roots, below);
}

GpuMilli gpus_of_nodes(const ClusterState& state, PoolId pool) {
    GpuMilli sum;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeRow& node = state.node(id);
        if (node.known && node.pool == pool) sum += gpus_total(node.facts.allocatable);
    }
    return sum;
}

}  // namespace gpuctl::limits
