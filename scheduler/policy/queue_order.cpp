#include "scheduler/policy/queue_order.hpp"

#include <algorithm>

#include "scheduler/base/planted.hpp"
#include "scheduler/queue/share.hpp"

namespace gpuctl {
namespace {

// True when the first of two classes of one queue is to be tried first.
bool comes_first(const ClusterState& state, QueueId in, Line& line, ClassId x, ClassId y) {
    const QueueRow& queue = state.queue(in);
    const JobClass& a = state.book().at(x);
    const JobClass& b = state.book().at(y);
    const bool a_resumes = (a.key.ask.front() & 2U) != 0;
    const bool b_resumes = (b.key.ask.front() & 2U) != 0;
    if (a_resumes != b_resumes) return a_resumes;
    if (a.key.priority != b.key.priority) {
        return (a.key.priority > b.key.priority) != planted(PlantedBug::low_priority_first);
    }
    if (state.pool(queue.pool).backfill.order == JobOrder::shortest) {
        const auto order = line.scores.compare(state, x, y, line.may_promise);
        if (order != std::strong_ordering::equal) return order == std::strong_ordering::less;
    } else if (a.key.tenant != b.key.tenant && !planted(PlantedBug::ignore_tenant_shares)) {
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

ClassId next_in_queue(const ClusterState& state, QueueId queue, Line& line) {
    ClassId best;
    for (const ClassId id : state.book().of_queue(queue)) {
        if (!line.offers(state, id)) continue;
        if (!best.exists() || comes_first(state, queue, line, id, best)) best = id;
    }
    return best;
}

}  // namespace

// One that was refused for want of room and nothing else may still be first in line.
bool Line::offers(const ClusterState& state, ClassId id) const {
    const JobClass& of = state.book().at(id);
    if (!state.is_blocked(of)) return true;
    constexpr std::uint8_t limits =
        ClassBlock::kQueueShrinks | ClassBlock::kTenantShrinks | ClassBlock::kShortWork;
    if (!may_promise || (of.block.watch & limits) != 0) return false;
    return (of.block.watch & ClassBlock::kPoolGains) != 0 &&
           std::find(passed.begin(), passed.end(), id) == passed.end();
}

ClassId next_class(const ClusterState& state, PoolId pool, Line& line) {
    const QueueId system = state.system_queue(pool);
    ClassId best = next_in_queue(state, system, line);
    for (const QueueId queue : state.pool(pool).queues) {
        const ClassId candidate = next_in_queue(state, queue, line);
        if (!candidate.exists()) continue;
        if (!best.exists() ||
            queue_comes_first(state, system, state.book().at(candidate), state.book().at(best))) {
            best = candidate;
        }
    }
    return best;
}

}  // namespace gpuctl
