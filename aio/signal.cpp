#include "aio/signal.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <vector>

#include "aio/loop.hpp"
#include "aio/timer.hpp"

namespace gpuctl::aio {

namespace asio = boost::asio;

namespace {

struct Waiter {
    Timer timer;
    bool notified = false;
};

}  // namespace

struct Signal::Parts {
    Executor executor;
    std::vector<Waiter*> waiters;  // each lives in the frame of a wait() that is suspended

    void wake_all(bool notified) {
        for (Waiter* waiter : waiters) {
            waiter->notified = waiter->notified || notified;
            waiter->timer.cancel();
        }
        waiters.clear();
    }
};

Signal::Signal(Loop& loop) : parts_(std::make_shared<Parts>(Parts{loop.executor(), {}})) {}

Signal::~Signal() { parts_->wake_all(false); }

void Signal::notify_all() { parts_->wake_all(true); }

Task<bool> Signal::wait(Deadline deadline) {
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) co_return false;

    // The frame may be destroyed while suspended (loop torn down): leave no pointer behind.
    struct Registration {
        std::shared_ptr<Parts> parts;
        Waiter* waiter;
        Registration(std::shared_ptr<Parts> p, Waiter* w) : parts(std::move(p)), waiter(w) {
            parts->waiters.push_back(waiter);
        }
        Registration(const Registration&) = delete;
        Registration& operator=(const Registration&) = delete;
        ~Registration() { std::erase(parts->waiters, waiter); }
    };
    Waiter waiter{Timer{parts_->executor, deadline.at()}};
    const Registration registration{parts_, &waiter};
    co_await waiter.timer.async_wait(asio::as_tuple(kUseTask));
    co_return waiter.notified;
}

}  // namespace gpuctl::aio
