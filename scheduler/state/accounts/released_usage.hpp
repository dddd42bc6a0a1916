#pragma once
// What queues and namespaces would no longer hold if some pods were gone: the limits are asked with
// it, so that a job is never made room for that a limit would stop then.

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
    // Takes the pod's part off (sign 1) or puts it back (sign -1).
    // Were there one more like it on a node, that is less than nothing off: sign -1, `on` the node.
    void add(const ClusterState& state, PodId pod, std::int64_t sign, NodeId on = NodeId::none());
    // Were the pod, which waits, to hold what it asks for: on which node is not said, so that it
    // counts for no GPU model. Sign 1 takes it off again.
    void add_to_come(const ClusterState& state, PodId pod, std::int64_t sign);
    // Were the job to hold so much more of the model, were it that alone which counts.
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
    [[nodiscard]] GpuMilli of_model(PoolId pool, std::string_view model) const;  // if it is kept
    // What is committed to them of a budget.
    [[nodiscard]] GpuTime of_budget(QueueId queue) const;
    [[nodiscard]] GpuTime of_budget(TenantId tenant, PoolId pool) const;
    // In that pool, by what may not use its reserve.
    [[nodiscard]] GpuMilli of_the_rest(PoolId pool) const;
    struct OfJob {
        std::int64_t pods = 0;
        GpuMilli gpus;
    };
    [[nodiscard]] OfJob of_job(const ClusterState& state, const JobRow& job) const;
    // What other queues could not have of this queue then, if `more` were held in `leaf`.
    [[nodiscard]] GpuMilli held_or_reserved(const ClusterState& state, QueueId queue, QueueId leaf,
                                            GpuMilli more) const;

    // Whether a queue of the pool would keep something back without what is claimed for it. A claim
    // may still come to nothing, and then what was lent in its stead would have to be taken back.
    [[nodiscard]] static bool reserves_without_nominations(const ClusterState& state,
                                                           const PoolRow& pool,
                                                           const ReleasedUsage* released);

private:
    struct HeldWithoutNominations {
        GpuMilli held;
        GpuMilli held_or_reserved;
    };
    // What a queue, with all below it, holds and keeps without any claim.
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
    // Of a pod that holds nothing yet, like one of the job, or of one that does.
    enum class Kind : std::uint8_t { holds, further, to_come };
    void add_to_job(const ClusterState& state, const JobRow& job, const PodRow& pod, Kind kind,
                    std::int64_t sign);
    void add_in_pool(const std::pair<TenantId, PoolId>& where, GpuMilli gpus);
    // Searches for victims add and take off thousands of times: no tree, no allocation each.
    std::vector<OfQueue> queues_;  // by QueueId
    std::vector<Load> tenants_;    // by TenantId
    boost::container::small_vector<std::pair<std::pair<TenantId, PoolId>, GpuMilli>, 4> in_pools_;
    boost::container::flat_map<JobId, OfJob> jobs_;
    boost::container::flat_map<std::pair<TenantId, PoolId>, GpuTime> committed_;
    boost::container::flat_map<PoolId, GpuMilli> rest_;
    boost::container::flat_map<PoolId, std::vector<OfModel>> models_;  // where queues keep some
};

}  // namespace gpuctl
