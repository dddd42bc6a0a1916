#pragma once
// Wakes one or many waiting tasks on the loop thread: a condition variable without threads. A
// notification without a waiter is not remembered, so waiters check their condition first.

#include <memory>

#include "aio/deadline.hpp"
#include "aio/task.hpp"

namespace gpuctl::aio {

class Loop;

class Signal {
public:
    explicit Signal(Loop& loop);
    ~Signal();
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    void notify_all();
    // True when notified, false at the deadline or on cancellation.
    Task<bool> wait(Deadline deadline);

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace gpuctl::aio
