#pragma once
// Runs queued coroutines, at most a fixed number at a time, in order of arrival. The queue has no
// bound of its own: it holds effects, and the engine has at most one per pod or job outstanding.
//
// Thread: the loop's. The TaskGroup and the queue outlive the tasks; work that still waits when the
// group is cancelled is dropped.

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "aio/task.hpp"
#include "aio/task_group.hpp"

namespace gpuctl::k8s {

class WorkQueue {
public:
    using Work = std::function<aio::Task<void>()>;  // calls a named coroutine

    WorkQueue(aio::TaskGroup& group, std::string name, std::size_t running_max)
        : group_(group), name_(std::move(name)), running_max_(running_max) {}

    void add(Work work);

    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] std::size_t running() const { return running_; }
    [[nodiscard]] bool idle() const { return waiting_.empty() && running_ == 0; }

private:
    aio::Task<void> work_off();

    aio::TaskGroup& group_;
    std::string name_;
    std::size_t running_max_;
    std::size_t running_ = 0;
    std::deque<Work> waiting_;
};

}  // namespace gpuctl::k8s
