#include "scheduler/policy/queue_order.hpp"

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl {
namespace {

// True when the first of two classes of one queue is to be tried first.
bool comes_first(const ClusterState& state, const QueueRow& queue, const JobClass& a,
                 const JobClass& b) {
    const bool a_resumes = (a.key.ask.front() & 2U) != 0;
    const bool b_resumes = (b.key.ask.front() & 2U) != 0;
    if (a_resumes != b_resumes) return a_resumes;
    if (a.key.priority != b.key.priority) {
        return (a.key.priority > b.key.priority) != planted(PlantedBug::low_priority_first);
    }
    if (a.key.tenant != b.key.tenant && !planted(PlantedBug::ignore_tenant_shares)) {
        const auto share = [&](TenantId tenant) {
            const bool known = tenant.value() < queue.held_by_tenant.size();
            return Share{known ? queue.held_by_tenant[tenant.value()] : GpuMilli{},
                         state.tenant(tenant).weight};
        };
        const auto order = compare_share(share(a.key.tenant), share(b.key.tenant));
        if (order != std::strong_ordering::equal) return order == std::strong_ordering::less;
    }
    return (*a.jobs.begin() < *b.jobs.begin()) != planted(PlantedBug::youngest_first);
}

// The same for the best classes of two queues of one pool.
bool queue_comes_first(const ClusterState& state, QueueId system, const JobClass& a,
                       const JobClass& b) {
    const bool a_resumes = (a.key.ask.front() & 2U) != 0;
    const bool b_resumes = (b.key.ask.front() & 2U) != 0;
    if (a_resumes != b_resumes) return a_resumes;
    if ((a.key.queue == system) != (b.key.queue == system)) return a.key.queue == system;
    const QueueRow& x = state.queue(a.key.queue);
    const QueueRow& y = state.queue(b.key.queue);
    if (x.priority != y.priority && !planted(PlantedBug::ignore_queue_priority)) {
        return x.priority > y.priority;
    }
    const bool x_is_owed = x.held < x.guaranteed;
    const bool y_is_owed = y.held < y.guaranteed;
    if (x_is_owed != y_is_owed && !planted(PlantedBug::ignore_guarantees)) return x_is_owed;
    const bool alike = planted(PlantedBug::ignore_queue_weights);
    const auto order =
        compare_share({x.held, alike ? 1 : x.weight}, {y.held, alike ? 1 : y.weight});
    if (order != std::strong_ordering::equal) return order == std::strong_ordering::less;
    return *a.jobs.begin() < *b.jobs.begin();
}

ClassId next_in_queue(const ClusterState& state, QueueId queue) {
    ClassId best;
    for (const ClassId id : state.book().of_queue(queue)) {
        const JobClass& candidate = state.book().at(id);
        if (state.is_blocked(candidate)) continue;
        if (!best.exists() ||
            comes_first(state, state.queue(queue), candidate, state.book().at(best))) {
            best = id;
        }
    }
    return best;
}

}  // namespace

ClassId next_class(const ClusterState& state, PoolId pool) {
    const QueueId system = state.system_queue(pool);
    ClassId best = next_in_queue(state, system);
    for (const QueueId queue : state.pool(pool).queues) {
        const ClassId candidate = next_in_queue(state, queue);
        if (!candidate.exists()) continue;
        if (!best.exists() ||
            queue_comes_first(state, system, state.book().at(candidate), state.book().at(best))) {
            best = candidate;
        }
    }
    return best;
}

}  // namespace gpuctl
