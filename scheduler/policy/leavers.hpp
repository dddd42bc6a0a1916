#pragma once
// What those on their way out still hold. Limits count it until they are gone; whose turn it is
// does not: room that is about to be free is given out before it is, so that a queue whose job was
// deleted would be passed for GPUs that it holds no more when those who passed it start.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Lives in a Line: read for one Plan, and again when somebody began to leave in it, or stays.
class Leavers {
public:
    // On the pool's nodes. Who is stuck, or on a node that does not answer, is not about to go.
    void read(const ClusterState& state, PoolId pool);

    [[nodiscard]] Load of_queue(QueueId queue) const;  // with every queue below
    [[nodiscard]] Load of_tenant(QueueId leaf, TenantId tenant) const;
    [[nodiscard]] GpuMilli of_tenant(TenantId tenant) const;  // in the pool
    [[nodiscard]] GpuMilli of_model(QueueId queue, std::string_view model) const;

private:
    void add(const ClusterState& state, const PodRow& pod);

    PoolId pool_ = PoolId::none();
    std::uint64_t moved_ = 0;  // the pool's `leaving` when they were read
    std::vector<PodId> pods_;
    // Plans look here each time somebody goes, with thousands who are still to go: few sums, no
    // entry for each.
    std::vector<Load> queues_;  // by QueueId
    std::map<std::pair<QueueId, TenantId>, Load> by_tenant_;
    std::map<std::pair<QueueId, std::string>, GpuMilli> by_model_;  // where a queue has some
};

}  // namespace gpuctl
