#include "scheduler/plan/reclaim/in_the_way.hpp"

#include <algorithm>
#include <set>

#include "scheduler/plan/reclaim/reclaim.hpp"

namespace gpuctl::in_the_way {
namespace {

// The shapes of the pods with GPUs, and the number of pods of each.
std::vector<std::pair<ShapeId, std::int64_t>> shapes_with_gpus(const ClusterState& state,
                                                               const std::vector<PodId>& pods) {
    std::vector<std::pair<ShapeId, std::int64_t>> out;
    for (const PodId pod : pods) {
        const ShapeId shape = state.pod(pod).shape;
        if (state.shape_of(shape).gpus <= GpuMilli{}) continue;
        const auto known = std::find_if(out.begin(), out.end(),
                                        [shape](const auto& one) { return one.first == shape; });
        if (known == out.end()) {
            out.emplace_back(shape, 1);
        } else {
            ++known->second;
        }
    }
    return out;
}

// GPUs that candidates would release, by slot. The last fraction on a GPU releases the whole GPU.
std::vector<std::int64_t> gpus_left_by(const ClusterState& state, const Candidates& found) {
    std::vector<std::int64_t> out(state.nodes.node_slots(), 0);
    const auto lift = [&](PodId id) {
        const GpuMilli gpus = state.shape_of(id).gpus;
        out[state.pod(id).node.value()] += whole_gpus_ceil(gpus) * kGpuMilliPerGpu;
    };
    for (const PodId id : found.terminating_pods) lift(id);
    for (const EvictionUnit& unit : found.units) {
        std::for_each(unit.pods.begin(), unit.pods.end(), lift);
    }
    return out;
}

bool is_gpu(ColumnKind kind) { return kind == ColumnKind::gpu || kind == ColumnKind::gpu_part; }

// The number of pods that the node has enough GPUs for.
std::int64_t ranks_by_gpus(const Capacity& capacity, std::uint32_t slot, const Shape& shape,
                           std::int64_t ranks, std::int64_t to_come) {
    for (const Need& need : shape.needs) {
        const ColumnKind kind = capacity.kind(need.column);
        if (!is_gpu(kind)) continue;
        if (to_come == 0) {
            ranks = capacity.fitting_by(slot, need, ranks);
            continue;
        }
        // Slices and fractions are counted in units of their own, so any released amount may be
        // sufficient.
        const bool is_whole = kind == ColumnKind::gpu && need.amount == shape.gpus.value();
        if (!is_whole) continue;
        ranks =
            Capacity::times_in(capacity.usable(need.column, slot) + to_come, need.amount, ranks);
    }
    return ranks;
}

}  // namespace

void read_short(const ClusterState& state, std::uint32_t slot, const Shape& shape,
                std::int64_t ranks, std::int64_t gpus_to_come, std::vector<Column>& out) {
    out.clear();
    const Capacity& capacity = state.nodes.capacity();
    ranks = ranks_by_gpus(capacity, slot, shape, ranks, gpus_to_come);
    if (ranks == 0) return;
    for (const Need& need : shape.needs) {
        if (is_gpu(capacity.kind(need.column))) continue;
        const std::int64_t room = capacity.usable(need.column, slot);
        if (Capacity::times_in(room, need.amount, ranks) < ranks) out.push_back(need.column);
    }
}

void add(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods, GpuMilli ask,
         Candidates& found) {
    const auto shapes = shapes_with_gpus(state, pods);
    const std::vector<std::int64_t> to_come = gpus_left_by(state, found);
    const auto may_clear = [&](const JobRow& other) {
        return reclaim::may_clear(state, job, ask, other);
    };
    std::vector<Column> lacks;
    std::set<JobId> gangs;  // gangs that were added already
    Candidates here;
    const std::size_t before = found.units.size();
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(job.pool)) {
        const bool is_any = std::any_of(shapes.begin(), shapes.end(), [&](const auto& one) {
            read_short(state, slot, state.shape_of(one.first), one.second, to_come[slot], lacks);
            return !lacks.empty();
        });
        if (!is_any) continue;
        find_candidates_on(state, NodeId{slot}, may_clear, here, Consent::needed);
        for (EvictionUnit& unit : here.units) {
            if (unit.gpus > GpuMilli{}) continue;
            if (unit.pods.size() > 1 && !gangs.insert(unit.job).second) continue;
            unit.is_in_the_way = true;
            found.units.push_back(std::move(unit));
        }
    }
    if (here.look_again_at.happened()) found.note_look_again(here.look_again_at);
    if (found.units.size() > before) sort_by_cost(state, found.units);
}

Cause why(const ClusterState& state, const JobRow& job, const std::vector<PodId>& pods,
          NodeId node) {
    const Capacity& capacity = state.nodes.capacity();
    std::vector<Column> lacks;
    cause::BlocksGuarantee out{
        state.tree.queue_path(job.queue), state.node(node).facts.name, {}, job.key};
    for (const auto& [shape, ranks] : shapes_with_gpus(state, pods)) {
        // Any number of GPUs may become free: a trial shows whether the job fits then.
        read_short(state, node.value(), state.shape_of(shape), ranks, kAmountMax, lacks);
        for (const Column column : lacks) {
            cause::ShortResource one{capacity.kind(column), capacity.resource(column)};
            const bool is_named =
                std::find(out.resources.begin(), out.resources.end(), one) != out.resources.end();
            if (!is_named) out.resources.push_back(std::move(one));
        }
    }
    return out;
}

}  // namespace gpuctl::in_the_way
