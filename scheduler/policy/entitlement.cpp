#include "scheduler/policy/entitlement.hpp"

#include <algorithm>
#include <functional>

#include "scheduler/queue/division.hpp"

namespace gpuctl {
namespace {

using Entitlements = std::map<QueueId, Entitlement>;

// The demand of a queue, limited to its own maximum and to what its sub-queues may use.
GpuMilli read_demand(const ClusterState& state, QueueId id, Entitlements& out) {
    const QueueRow& queue = state.queue(id);
    Entitlement& own = out[id];
    own.held = queue.account.held.gpus;
    own.demand = queue.direct.gpus + queue.waiting;
    for (const QueueId child : queue.children) own.demand += read_demand(state, child, out);
    own.demand = std::max(own.held, std::min(own.demand, queue.cap().value_or(own.demand)));
    return own.demand;
}

ShareRequest request_of(const ClusterState& state, QueueId id, GpuMilli whole,
                        const Entitlements& out) {
    const QueueRow& queue = state.queue(id);
    const std::int64_t demand = out.at(id).demand.value();
    const auto cap = queue.cap();
    return {queue.weight, queue.guaranteed_now().value(), demand,
            cap ? cap->value() : std::max(whole.value(), demand)};
}

// Queues in tiers of equal priority, if the order uses priorities. A tier is served before the
// tiers below it, except that these keep their guarantees as far as they could use them.
std::map<std::int32_t, std::vector<QueueId>, std::greater<>> tiers_of(
    const ClusterState& state, QueueOrder order, const std::vector<QueueId>& queues) {
    std::map<std::int32_t, std::vector<QueueId>, std::greater<>> out;
    for (const QueueId id : queues) {
        const bool has_tiers = order != QueueOrder::fifo;
        out[has_tiers ? state.queue(id).priority : 0].push_back(id);
    }
    return out;
}

void divide_among(const ClusterState& state, QueueOrder order, GpuMilli whole,
                  const std::vector<QueueId>& queues, Entitlements& out) {
    const auto tiers = tiers_of(state, order, queues);
    const auto guaranteed_in = [&](const std::vector<QueueId>& tier) {
        std::int64_t sum = 0;
        for (const QueueId id : tier) {
            const ShareRequest request = request_of(state, id, whole, out);
            sum += std::min({request.guaranteed, request.demand, request.cap});
        }
        return sum;
    };
    std::int64_t kept = 0;  // guarantees of later tiers
    for (const auto& [priority, tier] : tiers) kept += guaranteed_in(tier);
    std::int64_t left = whole.value();
    for (const auto& [priority, tier] : tiers) {
        kept -= guaranteed_in(tier);
        std::vector<ShareRequest> requests;
        for (const QueueId id : tier) requests.push_back(request_of(state, id, whole, out));
        const std::vector<std::int64_t> parts =
            divide(std::max<std::int64_t>(left - kept, 0), requests);
        for (std::size_t i = 0; i < tier.size(); ++i) {
            const QueueRow& queue = state.queue(tier[i]);
            out.at(tier[i]).entitled = GpuMilli{parts[i]};
            divide_among(state, queue.order, GpuMilli{parts[i]}, queue.children, out);
            left -= parts[i];
        }
    }
}

}  // namespace

std::map<QueueId, Entitlement> entitlements(const ClusterState& state, PoolId pool) {
    Entitlements out;
    const PoolRow& row = state.pool(pool);
    for (const QueueId root : row.roots) read_demand(state, root, out);
    divide_among(state, row.order, row.offered.gpus, row.roots, out);
    return out;
}

}  // namespace gpuctl
