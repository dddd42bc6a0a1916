#include "scheduler/state/accounts/limits/limit_figures.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/state/accounts/budget_book.hpp"

namespace gpuctl::limits {

std::optional<LimitFigures> budget_figures(const Budget* budget, const LimitAt& at,
                                           GpuTime relieved) {
    if (budget == nullptr) return std::nullopt;
    const Spending& spending = budget->spending;
    const Instant now = at.state.now();
    GpuTime held = spending.used(now);
    if (!planted(PlantedBug::spend_without_committing)) held += spending.committed(now) - relieved;
    return LimitFigures{(budget->policy.amount + spending.carried()).value(), held.value(),
                        spending.needed(at.ask.gpus, at.job.run.time_max, now).value()};
}

bool would_grow(const ClusterState& state, const JobRow& job, std::int64_t pods_held) {
    if (!job.record) return false;
    std::optional<std::int32_t> first;
    for (const PodId id : job.pods) {
        const PodRow& pod = state.pod(id);
        const bool waits =
            pod.bind.state == BindState::waiting || pod.bind.state == BindState::claimed;
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
    if (at.relief) held -= at.relief->of_the_rest(at.job.pool);
    return LimitFigures{(pool.offered.gpus - reserve).value(), held.value(), at.ask.gpus.value()};
}

std::optional<LimitFigures> pool_lending_figures(const LimitAt& at) {
    const PoolRow& pool = at.state.pool(at.job.pool);
    GpuMilli kept = pool.kept;
    GpuMilli held = pool.held;
    GpuMilli grows = at.grows;
    if (at.relief) {
        kept = grows = GpuMilli{};
        for (const QueueId root : pool.roots) {
            const GpuMilli without = at.relief->kept(at.state, root, at.job.queue, GpuMilli{});
            kept += without;
            held -= at.relief->of_queue(root).gpus;
            grows += at.relief->kept(at.state, root, at.job.queue, at.ask.gpus) - without;
        }
    }
    // A pool without GPUs reserves none: the job waits for nodes.
    if (pool.offered.gpus <= GpuMilli{}) return std::nullopt;
    if (kept <= held && !Relief::claims_are_kept(at.state, pool, at.relief)) return std::nullopt;
    return LimitFigures{pool.offered.gpus.value(), kept.value(), at.ask.gpus.value(),
                        grows.value()};
}

namespace {

GpuMilli kept_back_below(const ClusterState& state, QueueId id, std::string_view model,
                         QueueId leaf, GpuMilli more, const Relief* relief, Counted counted) {
    const QueueRow& queue = state.queue(id);
    GpuMilli kept;
    for (const QueueId child : queue.children) {
        kept += kept_back_below(state, child, model, leaf, more, relief, counted);
    }
    for (const ModelHolding& of : queue.models) {
        if (of.keeps == GpuMilli{} || !same_gpu_model(of.limit.model, model)) continue;
        GpuMilli held = of.held - (relief ? relief->of_model(id, model) : GpuMilli{});
        if (counted == Counted::beside_claims) {
            held -= of.claimed - (relief ? relief->claimed_of_model(id, model) : GpuMilli{});
        }
        for (QueueId up = leaf; up.exists(); up = state.queue(up).parent) {
            if (up == id) held += more;
        }
        kept = std::max(kept, of.keeps - held);
    }
    return kept;
}

// A claim may come to nothing, and then other jobs would hold what was lent in its stead.
bool is_kept_beside_claims(const ClusterState& state, PoolId pool, const ModelRoom& room,
                           const Relief* relief) {
    if (state.nominations.claims().empty()) return false;
    return kept_back(state, pool, room.model, QueueId::none(), GpuMilli{}, relief,
                     Counted::beside_claims) > GpuMilli{};
}

}  // namespace

GpuMilli kept_back(const ClusterState& state, PoolId pool, std::string_view model, QueueId leaf,
                   GpuMilli more, const Relief* relief, Counted counted) {
    GpuMilli kept;
    for (const QueueId root : state.pool(pool).roots) {
        kept += kept_back_below(state, root, model, leaf, more, relief, counted);
    }
    return kept;
}

bool keeps_back(const ClusterState& state, PoolId pool, const ModelRoom& room) {
    return kept_back(state, pool, room.model, QueueId::none(), GpuMilli{}, nullptr) > GpuMilli{} ||
           is_kept_beside_claims(state, pool, room, nullptr);
}

std::optional<LimitFigures> model_lending_figures(const ClusterState& state, const JobRow& job,
                                                  const ModelRoom& room, GpuMilli ask,
                                                  const Relief* relief) {
    const GpuMilli kept = kept_back(state, job.pool, room.model, job.queue, GpuMilli{}, relief);
    const bool is_any = room.offered > GpuMilli{} &&
                        (kept > GpuMilli{} || is_kept_beside_claims(state, job.pool, room, relief));
    if (!is_any) return std::nullopt;
    const GpuMilli then = kept_back(state, job.pool, room.model, job.queue, ask, relief);
    const GpuMilli held =
        room.held - (relief ? relief->of_model(job.pool, room.model) : GpuMilli{});
    return LimitFigures{room.offered.value(), (held + kept).value(), (ask + then - kept).value()};
}

bool crosses_model_lending(const ClusterState& state, const JobRow& job, const ModelRoom& room,
                           GpuMilli ask, const Relief* relief) {
    const auto figures = model_lending_figures(state, job, room, ask, relief);
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

// Of its guarantee, and of the guarantees below it, while all of them are idle.
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

}  // namespace

GpuMilli reserved_when_idle(const ClusterState& state, PoolId pool, QueueId leaf, QueueId top) {
    GpuMilli kept;
    QueueId below = QueueId::none();
    for (QueueId id = leaf; id.exists(); id = state.queue(id).parent) {
        if (below.exists()) kept += kept_beside(state, state.queue(id).children, below);
        if (id == top) return kept;
        below = id;
    }
    return kept + kept_beside(state, state.pool(pool).roots, below);
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
