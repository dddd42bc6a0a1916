// Gangs whose ranks ask for different amounts: each kind alone may fit, and all together not.

#include <algorithm>

#include "scheduler/plan/explain_parts.hpp"
#include "scheduler/plan/placer.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl::explain_parts {
namespace {

Capacity::Gpus gpus_of(const ClusterState& state, PoolId pool) {
    Capacity::Gpus out;
    const Capacity& capacity = state.capacity();
    const NodeSet& nodes = capacity.nodes_of(pool);
    for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd; slot = nodes.next(slot + 1)) {
        const Capacity::Gpus here = capacity.gpus_on(slot);
        out.free += here.free;
        out.total += here.total;
    }
    return out;
}

}  // namespace

std::string whole_of_mix(const ClusterState& state, const Readiness& ready) {
    const auto ranks = std::min(ready.pods.size(), static_cast<std::size_t>(ready.ranks_needed));
    constexpr std::size_t kNamed = 8;
    std::string sizes;
    GpuMilli sum;
    for (std::size_t i = 0; i < ranks; ++i) {
        const GpuMilli gpus = state.shapes().at(state.pod(ready.pods[i]).shape).gpus;
        sum += gpus;
        if (i < kNamed) sizes += (sizes.empty() ? "" : ", ") + format_gpus(gpus);
    }
    if (ranks > kNamed) sizes += ", ...";
    return gpus_noun(sum.value()) + " for " + std::to_string(ranks) +
           " ranks of different size at once (" + sizes + ")";
}

std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready, WindowSet barred) {
    Capacity copy = state.capacity();
    Placer placer;
    if (barred != 0) placer.keep_outside(barred);
    std::vector<Placement> out;
    std::vector<PodId> pods = ready.pods;
    pods.resize(std::min(pods.size(), static_cast<std::size_t>(ready.ranks_needed)));
    if (placer.place_all(state, copy, job.pool, pods, out)) return std::nullopt;
    Explanation found;
    found.reason = Reason::nodes_insufficient;
    found.subject = state.pool(job.pool).name;
    found.nodes_total = state.pool(job.pool).nodes;
    const Capacity::Gpus has = gpus_of(state, job.pool);
    found.figures = {{"ranks_needed", static_cast<std::int64_t>(pods.size())},
                     {"gpus_needed", load_of(state, pods).gpus.value()},
                     {"gpus_free", has.free},
                     {"gpus_total", has.total}};
    found.sentence = "needs " + whole_of_mix(state, ready) + "; pool " + found.subject + " has " +
                     format_gpus(GpuMilli{has.free}) + " of " + gpus_noun(has.total) +
                     " free: room for each kind, but not for all together";
    return found;
}

}  // namespace gpuctl::explain_parts
