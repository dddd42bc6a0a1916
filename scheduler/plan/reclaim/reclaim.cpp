#include "scheduler/plan/reclaim/reclaim.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl::reclaim {
namespace {

// What the queue takes from other queues, including what the queues below it reserve without
// holding it. This amount of its guarantee is used.
bool is_over(const QueueRow& queue) {
    return queue.direct.gpus + queue.held_or_reserved_below > queue.guaranteed_now();
}

// Whether the queue would be within its guarantee with this much more, by the same measure.
// Otherwise a queue could reclaim while its own guarantee is reserved for its siblings; it would
// exceed its guarantee at once and would be reclaimed from.
bool has_room_within(const QueueRow& queue, GpuMilli grows) {
    const GpuMilli more = has_fault(SeededFault::reclaim_one_too_many) ? whole_gpus(1) : GpuMilli{};
    return queue.direct.gpus + queue.held_or_reserved_below + grows <=
           queue.guaranteed_now() + more;
}

// A queue on the way from a leaf upwards, and the growth of what it takes if the leaf held more.
// Amounts that are reserved below it already cause no growth.
struct Level {
    QueueId id;
    GpuMilli grows;
    [[nodiscard]] Level above(const ClusterState& state) const {
        const QueueRow& queue = state.queue(id);
        return {queue.parent, queue.held_or_reserved_with(grows) - queue.held_or_reserved()};
    }
};

// What the queue takes without pods that are gone.
template <typename Those>
GpuMilli held_or_reserved_without(const ClusterState& state, QueueId id, const Those& gone) {
    const QueueRow& queue = state.queue(id);
    GpuMilli taken = queue.direct.gpus - gone.of_queue(id).gpus;
    for (const QueueId child : queue.children) {
        taken += gone.of_queue(child).gpus;  // counted in gone.of_queue(id)
        taken +=
            std::max(state.queue(child).not_lent, held_or_reserved_without(state, child, gone));
    }
    return taken;
}

// Whether the queue has its guarantee without the pods that are gone.
template <typename Those>
bool keeps_guarantee(const ClusterState& state, QueueId id, const Those& gone) {
    if (has_fault(SeededFault::reclaim_guarantees)) return true;
    const QueueRow& queue = state.queue(id);
    if (held_or_reserved_without(state, id, gone) < queue.guaranteed_now()) return false;
    if (queue.is_beyond_guarantee) return true;
    return std::all_of(queue.models.begin(), queue.models.end(), [&](const ModelHolding& model) {
        const GpuMilli taken = gone.of_model(id, model.limit.model);
        return taken == GpuMilli{} || model.held - taken >= model.limit.guaranteed;
    });
}

template <typename Those>
bool has_guarantees_along_chain(const ClusterState& state, QueueId leaf, QueueId last,
                                const Those& gone) {
    for (QueueId id = leaf;; id = state.queue(id).parent) {
        if (!keeps_guarantee(state, id, gone)) return false;
        if (id == last) return true;
    }
}

// What queues would no longer hold if some pods were gone. GPU models are counted only if a queue
// has limits for one, because that needs the node of every pod.
class Gone {
public:
    Gone(const ClusterState& state, PoolId pool) : state_(state) {
        const std::vector<QueueId>& queues = state.pool(pool).queues;
        counts_models_ = std::any_of(queues.begin(), queues.end(), [&state](QueueId id) {
            return !state.queue(id).models.empty();
        });
    }
    void add(PodId id, std::int64_t sign) {
        if (counts_models_) by_model_.add(state_, id, sign);
        const PodRow& pod = state_.pod(id);
        if (!pod.job.exists() || state_.job(pod.job).priority >= kSystemPriority) return;
        const GpuMilli gpus = state_.shape_of(pod).gpus * sign;
        for (QueueId queue = state_.job(pod.job).queue; queue.exists();
             queue = state_.queue(queue).parent) {
            if (gpus_.size() <= queue.value()) gpus_.resize(queue.value() + 1);
            gpus_[queue.value()] += gpus;
        }
    }
    [[nodiscard]] Load of_queue(QueueId id) const {
        return id.value() < gpus_.size() ? Load{gpus_[id.value()], {}, {}} : Load{};
    }
    [[nodiscard]] GpuMilli of_model(QueueId id, std::string_view model) const {
        return by_model_.of_model(id, model);
    }

private:
    const ClusterState& state_;
    bool counts_models_ = false;
    std::vector<GpuMilli> gpus_;  // by QueueId
    ReleasedUsage by_model_;
};

}  // namespace

bool chain_keeps_guarantees(const ClusterState& state, QueueId leaf, QueueId last,
                            const ReleasedUsage& gone) {
    return has_guarantees_along_chain(state, leaf, last, gone);
}

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

GuaranteeState guarantee_state(const ClusterState& state, const JobRow& job, GpuMilli ask) {
    GuaranteeState out;
    if (job.priority >= kSystemPriority || ask <= GpuMilli{}) return out;
    for (Level level{job.queue, ask}; level.id.exists(); level = level.above(state)) {
        const QueueRow& queue = state.queue(level.id);
        if (queue.guaranteed <= GpuMilli{}) continue;
        out.has_guarantee = true;
        out.is_owed = out.is_owed || has_room_within(queue, level.grows);
    }
    return out;
}

bool may_try(const ClusterState& state, const JobRow& job, GpuMilli ask) {
    if (ask <= GpuMilli{} || job.priority >= kSystemPriority) return false;
    for (Level level{job.queue, ask}; level.id.exists(); level = level.above(state)) {
        const QueueRow& queue = state.queue(level.id);
        if (!has_room_within(queue, level.grows)) continue;
        const auto& siblings = queue.parent.exists() ? state.queue(queue.parent).children
                                                     : state.pool(queue.pool).roots;
        const bool is_lent = std::any_of(siblings.begin(), siblings.end(), [&](QueueId other) {
            return other != level.id && is_over(state.queue(other));
        });
        if (is_lent) return true;
    }
    return false;
}

namespace {

// Where the chains of both queues meet, if the side of the job's queue is within its guarantee
// there, including the job.
Sides owed_sides(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other) {
    if (!other.queue.exists() || other.priority >= kSystemPriority) return {};
    const Sides meet = sides(state, job.queue, other.queue);
    if (!meet.other.exists()) return {};
    Level level{job.queue, ask};
    while (level.id != meet.own) level = level.above(state);
    return has_room_within(state.queue(level.id), level.grows) ? meet : Sides{};
}

}  // namespace

bool may_try_to_clear(const ClusterState& state, const JobRow& job, GpuMilli ask) {
    if (!job.queue.exists() || !guarantee_state(state, job, ask).is_owed) return false;
    if (has_fault(SeededFault::reclaim_gpus_only)) return false;
    const QueueRow& own = state.queue(job.queue);
    return state.pool(own.pool).stoppable_without_gpus > own.stoppable_without_gpus;
}

bool may_clear(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other) {
    return owed_sides(state, job, ask, other).other.exists();
}

bool may_stop(const ClusterState& state, const JobRow& job, GpuMilli ask, const JobRow& other) {
    const Sides meet = owed_sides(state, job, ask, other);
    if (!meet.other.exists()) return false;
    for (QueueId id = other.queue;; id = state.queue(id).parent) {
        if (!is_over(state.queue(id)) && !has_fault(SeededFault::reclaim_guarantees)) return false;
        if (id == meet.other) return true;
    }
}

void leave_guarantees(const ClusterState& state, const JobRow& job,
                      const std::vector<PodId>& terminating_pods,
                      std::vector<const EvictionUnit*>& units) {
    Gone gone{state, job.pool};  // terminating pods, and all units that were kept so far
    for (const PodId pod : terminating_pods) gone.add(pod, 1);
    std::erase_if(units, [&](const EvictionUnit* unit) {
        // work without GPUs holds nothing that is lent
        if (unit->gpus <= GpuMilli{}) return !unit->is_in_the_way;
        for (const PodId pod : unit->pods) gone.add(pod, 1);
        const QueueId leaf = state.job(unit->job).queue;
        if (leaf == job.queue) return false;  // within one queue nothing is lent
        if (has_guarantees_along_chain(state, leaf, sides(state, job.queue, leaf).other, gone))
            return false;
        for (const PodId pod : unit->pods) gone.add(pod, -1);
        return true;
    });
}

}  // namespace gpuctl::reclaim
