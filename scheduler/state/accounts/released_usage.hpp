#pragma once
// What queues and namespaces would release if some pods were gone. Limits are checked with it, so
// that no pod is evicted for a job that a limit would still block.

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class ReleasedUsage {
public:
    // Adds the usage of the pod to what is released (sign 1), or removes it (sign -1). Sign -1 and
    // `on`: counts one more pod like it on that node.
    void add(const ClusterState& state, PodId pod, std::int64_t sign, NodeId on = NodeId::none());
    // Counts a waiting pod as if it held what it requests (sign -1), or no longer (sign 1). Its
    // node is unknown, so it counts for no GPU model.
    void add_to_come(const ClusterState& state, PodId pod, std::int64_t sign);
    // Counts `more` GPUs of the model for the job, only in limits of GPU models.
    void add_to_come(const ClusterState& state, const JobRow& job, std::string_view model,
                     GpuMilli more);
    void add_all(const ReleasedUsage& other);
    void clear();

    [[nodiscard]] Load of_queue(QueueId queue) const;  // with every queue below
    [[nodiscard]] std::int64_t jobs_of(QueueId queue) const;
    [[nodiscard]] Load of_tenant(TenantId tenant) const;
    [[nodiscard]] GpuMilli of_tenant(TenantId tenant, PoolId pool) const;
    [[nodiscard]] GpuMilli of_model(QueueId queue, std::string_view model) const;
    [[nodiscard]] GpuMilli nominated_of_model(QueueId queue, std::string_view model) const;
    // Only of models that queues of the pool reserve.
    [[nodiscard]] GpuMilli of_model(PoolId pool, std::string_view model) const;
    // The time that a budget has committed to these pods.
    [[nodiscard]] GpuTime of_budget(QueueId queue) const;
    [[nodiscard]] GpuTime of_budget(TenantId tenant, PoolId pool) const;
    // In that pool: the GPUs of pods that may not use its reserve.
    [[nodiscard]] GpuMilli of_the_rest(PoolId pool) const;
    struct OfJob {
        std::int64_t pods = 0;
        GpuMilli gpus;
    };
    [[nodiscard]] OfJob of_job(const ClusterState& state, const JobRow& job) const;
    // What other queues could not get of this queue then, if `more` were held in `leaf`.
    [[nodiscard]] GpuMilli held_or_reserved(const ClusterState& state, QueueId queue, QueueId leaf,
                                            GpuMilli more) const;

    // True if a queue of the pool would have a reservation left if nominations did not count as
    // held. A nomination may be withdrawn, and what was lent because of it would have to be
    // reclaimed.
    [[nodiscard]] static bool reserves_without_nominations(const ClusterState& state,
                                                           const PoolRow& pool,
                                                           const ReleasedUsage* released);

private:
    struct HeldWithoutNominations {
        GpuMilli held;
        GpuMilli held_or_reserved;
    };
    // What a queue and all queues below it hold, and what they hold or reserve, without
    // nominations.
    static HeldWithoutNominations held_without_nominations(const ClusterState& state, QueueId queue,
                                                           const ReleasedUsage* released);
    struct OfModel {
        std::string model;
        GpuMilli gpus;
        GpuMilli nominated;  // of `gpus`
    };
    static void add_of_model(std::vector<OfModel>& models, const OfModel& more);
    static OfModel sum_of_model(const std::vector<OfModel>& models, std::string_view model);
    struct OfQueue {
        Load held;
        GpuMilli direct;
        GpuMilli nominated;  // of `direct`
        std::int64_t jobs = 0;
        GpuTime committed;
        std::vector<OfModel> models;  // by the nodes of its pods
    };
    [[nodiscard]] const OfQueue* find(QueueId queue) const {
        return queue.value() < queues_.size() ? &queues_[queue.value()] : nullptr;
    }
    OfQueue& of(QueueId queue);
    // A pod that holds resources, one more pod like it, or a waiting pod as if it held resources.
    enum class Kind : std::uint8_t { holds, further, to_come };
    void add_to_job(const ClusterState& state, const JobRow& job, const PodRow& pod, Kind kind,
                    std::int64_t sign);
    void add_in_pool(const std::pair<TenantId, PoolId>& where, GpuMilli gpus);
    // Searches for victims add and remove pods thousands of times: no tree, and no allocation for
    // each.
    std::vector<OfQueue> queues_;  // by QueueId
    std::vector<Load> tenants_;    // by TenantId
    boost::container::small_vector<std::pair<std::pair<TenantId, PoolId>, GpuMilli>, 4> in_pools_;
    boost::container::flat_map<JobId, OfJob> jobs_;
    boost::container::flat_map<std::pair<TenantId, PoolId>, GpuTime> committed_;
    boost::container::flat_map<PoolId, GpuMilli> rest_;
    // of pools whose queues reserve GPU models
    boost::container::flat_map<PoolId, std::vector<OfModel>> models_;
};

}  // namespace gpuctl
