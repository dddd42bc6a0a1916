// Explains gangs whose ranks request different amounts: each kind may fit alone, but not all
// together.

#include <algorithm>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/explain/explain_parts.hpp"
#include "scheduler/state/accounts/limits.hpp"

namespace gpuctl::explain_parts {
namespace {

Capacity::Gpus gpus_of(const ClusterState& state, PoolId pool) {
    Capacity::Gpus out;
    const Capacity& capacity = state.nodes.capacity();
    for (const std::uint32_t slot : capacity.nodes_of(pool)) {
        const Capacity::Gpus here = capacity.gpus_on(slot);
        out.free += here.free;
        out.total += here.total;
    }
    return out;
}

}  // namespace

fact::MixedRequest whole_of_mix(const ClusterState& state, const Readiness& ready) {
    const auto ranks = std::min(ready.pods.size(), static_cast<std::size_t>(ready.ranks_needed));
    constexpr std::size_t kNamed = 8;
    fact::MixedRequest out;
    out.ranks = static_cast<std::int64_t>(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        const GpuMilli gpus = state.shape_of(ready.pods[i]).gpus;
        out.gpus += gpus.value();
        if (i < kNamed) out.sizes.push_back(gpus.value());
    }
    return out;
}

std::optional<Explanation> explain_mix(const ClusterState& state, const JobRow& job,
                                       const Readiness& ready, WindowSet barred) {
    Capacity copy = state.nodes.capacity();
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
    found.facts = {fact::MixShort{whole_of_mix(state, ready), found.subject, has.free, has.total}};
    return found;
}

}  // namespace gpuctl::explain_parts
