#pragma once
// What terminating pods still hold. Limits count it until the pods are gone; the order of jobs does
// not count it. Room that will be free soon is assigned before it is free: otherwise jobs of other
// queues would pass a queue whose job was deleted, because of GPUs that the queue no longer holds
// when these jobs start.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

// Part of a Line. It is read for one Plan, and again when a pod begins to terminate during the
// Plan, or no longer terminates.
class TerminatingPods {
public:
    // Reads the pods on the pool's nodes. Pods that are stuck or on a node that does not answer are
    // excluded: their end is not near.
    void read(const ClusterState& state, PoolId pool);

    [[nodiscard]] Load of_queue(QueueId queue) const;  // includes all queues below
    [[nodiscard]] Load of_tenant(QueueId leaf, TenantId tenant) const;
    [[nodiscard]] GpuMilli of_tenant(TenantId tenant) const;  // in the pool
    [[nodiscard]] GpuMilli of_model(QueueId queue, std::string_view model) const;

private:
    void add(const ClusterState& state, const PodRow& pod);

    PoolId pool_ = PoolId::none();
    std::uint64_t moved_ = 0;  // PoolRow::terminations when they were read
    std::vector<PodId> pods_;
    // A Plan reads this each time a pod begins to terminate, while thousands may be terminating. So
    // it holds a few sums and no entry for each pod.
    std::vector<Load> queues_;  // by QueueId
    std::map<std::pair<QueueId, TenantId>, Load> by_tenant_;
    // only queues with limits for a model
    std::map<std::pair<QueueId, std::string>, GpuMilli> by_model_;
};

}  // namespace gpuctl
