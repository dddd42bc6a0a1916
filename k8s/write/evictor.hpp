#pragma once
// Evicts pods for other jobs through the eviction subresource: the API server checks the disruption
// budgets, sets the pod's DisruptionTarget condition and deletes it with its own grace period,
// atomically. A condition written by us before would remain when a budget refuses, and be
// overwritten when none does; the reason is written as an event instead.
//
// Thread: the loop's. Each call ends at its own deadline; the engine retries.

#include <functional>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/write/work_queue.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

class Evictor {
public:
    using Done = std::function<void(const EvictPod& order, PodEvictOutcome outcome)>;

    Evictor(aio::TaskGroup& group, Client& client, Done done);

    // `may_evict`: whether the pod is known to have a controller that creates it again.
    void evict(EvictPod order, bool may_evict);

    [[nodiscard]] bool idle() const { return queue_.idle(); }

private:
    aio::Task<void> run(EvictPod order);

    Client& client_;
    Done done_;
    WorkQueue queue_;
};

std::string eviction_body(const PodReference& pod);
EvictResult eviction_result(const ApiError& error);

}  // namespace gpuctl::k8s
