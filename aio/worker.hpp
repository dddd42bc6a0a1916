#pragma once
// One thread of its own for work that takes long and owns what it works on: posted work runs there
// in order, one at a time. Its priority is lower than the loop's, so that on few cores the loop
// goes first.
//
// Lifecycle: created when there is work; the destructor waits for posted work. Thread:
// post() from any; made and destroyed on the loop's.

#include <functional>
#include <memory>
#include <string>

#include "aio/loop.hpp"

namespace gpuctl::aio {

class Worker {
public:
    explicit Worker(const std::string& name);  // of the thread, at most 15 characters
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void post(std::function<void()> work);  // which must not throw

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Runs `work` on the worker, which outlives it, and resumes on the loop with its result. Like
// offload(), it waits for the end of the work even when cancelled.
template <typename T>
Task<T> run_on(Worker& worker, Loop& loop, std::function<T()> work) {
    const OffloadTo post = [&worker](std::function<void()> job) { worker.post(std::move(job)); };
    T result = co_await offload_to<T>(loop, post, std::move(work));
    co_return result;
}

}  // namespace gpuctl::aio
