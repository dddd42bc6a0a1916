#pragma once
// Stops pods for the sake of other jobs, through the eviction subresource: the API server asks the
// disruption budgets, marks the pod with its DisruptionTarget condition and deletes it with its own
// grace, all of it or nothing. A condition of ours before it would stay behind where a budget
// refuses, and be overwritten where none does; why it is stopped is told by an event.
//
// Thread: the loop's. Each call ends at its own deadline; the engine asks again.

#include <functional>

#include "daemon/aio/task_group.hpp"
#include "k8s/client.hpp"
#include "k8s/work_queue.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

class Evictor {
public:
    using Done = std::function<void(const EvictPod& order, PodEvictOutcome outcome)>;

    Evictor(aio::TaskGroup& group, Client& client, Done done);

    // `may_evict`: the pod is known to have a controller (ruling 26).
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
