#include "scheduler/plan/reclaim.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"

namespace gpuctl::reclaim {
namespace {

bool is_over(const QueueRow& queue) { return queue.account.held.gpus > queue.guaranteed; }

bool has_room_within(const QueueRow& queue, GpuMilli ask) {
    const GpuMilli more = planted(PlantedBug::reclaim_one_too_many) ? whole_gpus(1) : GpuMilli{};
    return queue.account.held.gpus + ask <= queue.guaranteed + more;
}

// Whether it has what it is guaranteed, without those that are gone.
bool keeps_guarantee(const QueueRow& queue, QueueId id, const Relief& gone) {
    if (planted(PlantedBug::reclaim_guarantees)) return true;
    if (queue.account.held.gpus - gone.of_queue(id).gpus < queue.guaranteed) return false;
    return std::all_of(queue.models.begin(), queue.models.end(), [&](const ModelHolding& model) {
        const GpuMilli taken = gone.of_model(id, model.limit.model);
        return taken == GpuMilli{} || model.held - taken >= model.limit.guaranteed;
    });
}

bool chain_keeps_guarantees(const ClusterState& state, QueueId leaf, QueueId last,
                            const Relief& gone) {
    for (QueueId id = leaf;; id = state.queue(id).parent) {
        if (!keeps_guarantee(state.queue(id), id, gone)) return false;
        if (id == last) return true;
    }
}

}  // namespace

Sides sides(const ClusterState& state, QueueId own, QueueId other) {
    while (own.exists() && other.exists() && own != other) {
        const QueueRow& here = state.queue(own);
        const QueueRow& there = state.queue(other);
        if (here.parent == there.parent) return {own, other};
        if (here.depth >= there.depth) {
            own = here.parent;
        } else {
            other = there.parent;
        }
    }
    return {};
}

Standing standing(const ClusterState& state, const JobRow& job, GpuMilli ask) {
    Standing out;
    if (job.priority >= kSystemPriority || ask <= GpuMilli{}) return out;
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        const QueueRow& queue = state.queue(id);
        if (queue.guaranteed <= GpuMilli{}) continue;
        out.has_guarantee = true;
        out.is_owed = out.is_owed || has_room_within(queue, ask);
    }
    return out;
}

bool may_try(const ClusterState& state, const JobRow& job, GpuMilli ask) {
    if (ask <= GpuMilli{} || job.priority >= kSystemPriority) return false;
    for (QueueId id = job.queue; id.exists(); id = state.queue(id).parent) {
        const QueueRow& queue = state.queue(id);
        if (!has_room_within(queue, ask)) continue;
        const auto& beside = queue.parent.exists() ? state.queue(queue.parent).children
                                                   : state.pool(queue.pool).roots;
        const bool is_lent = std::any_of(beside.begin(), beside.end(), [&](QueueId other) {
            return other != id && is_over(state.queue(other));
        });
        if (is_lent) return true;
    }
    return false;
}

bool may_stop(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other) {
    if (!other.queue.exists() || other.priority >= kSystemPriority) return false;
    const Sides meet = sides(state, job.queue, other.queue);
    if (!meet.other.exists() || !has_room_within(state.queue(meet.own), ask)) {
        return false;
    }
    for (QueueId id = other.queue;; id = state.queue(id).parent) {
        if (!is_over(state.queue(id)) && !planted(PlantedBug::reclaim_guarantees)) return false;
        if (id == meet.other) return true;
    }
}

void leave_guarantees(const ClusterState& state, const JobRow& job, Candidates& candidates) {
    Relief gone;  // those that leave anyway, and all that were kept so far
    for (const PodId pod : candidates.leaving) gone.add(state, pod, 1);
    std::erase_if(candidates.units, [&](const EvictionUnit& unit) {
        if (unit.gpus <= GpuMilli{}) return true;  // without GPUs nothing is lent
        for (const PodId pod : unit.pods) gone.add(state, pod, 1);
        const QueueId leaf = state.job(unit.job).queue;
        const Sides meet = sides(state, job.queue, leaf);
        if (chain_keeps_guarantees(state, leaf, meet.other, gone)) return false;
        for (const PodId pod : unit.pods) gone.add(state, pod, -1);
        return true;
    });
}

}  // namespace gpuctl::reclaim
