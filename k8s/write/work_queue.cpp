#include "k8s/write/work_queue.hpp"

#include <utility>

namespace gpuctl::k8s {

void WorkQueue::add(Work work) {
    waiting_.push_back(std::move(work));
    if (running_ == running_max_) return;
    ++running_;
    if (!group_.spawn(name_, work_off())) --running_;
}

aio::Task<void> WorkQueue::work_off() {
    // Decremented on every exit, also when cancellation unwinds the coroutine.
    struct Leave {
        std::size_t& running;
        ~Leave() { --running; }
    } leave{running_};
    while (!waiting_.empty() && !group_.cancelled()) {
        const Work work = std::move(waiting_.front());
        waiting_.pop_front();
        co_await work();
    }
}

}  // namespace gpuctl::k8s
