#include "k8s/watch/feed.hpp"

#include "aio/loop.hpp"

namespace gpuctl::k8s {

bool Outbox::offer(Event event) {
    // Events that wait here came first.
    flush();
    return waiting_.empty() && sink_ != nullptr && sink_->offer(std::move(event));
}

void Outbox::deliver(Event event) {
    waiting_.push_back(std::move(event));
    flush();
    if (!waiting_.empty()) added_.notify_all();
}

// The sink may deliver another event while it takes one: that one comes after it.
void Outbox::flush() {
    if (flushing_) return;
    flushing_ = true;
    while (!waiting_.empty() && sink_ != nullptr) {
        // Offered as a copy: after a refusal the event is needed again.
        if (!sink_->offer(waiting_.front())) break;
        waiting_.pop_front();
    }
    flushing_ = false;
}

aio::Task<void> Outbox::run() {
    constexpr std::chrono::milliseconds again{20};  // the loop drains its mailbox faster than this
    constexpr std::chrono::seconds idle{60};
    for (;;) {
        if (waiting_.empty()) {
            const bool notified = co_await added_.wait(aio::Deadline::in(idle));
            if (!notified) {
                const bool running = co_await aio::sleep_until(aio::Deadline::in({}));
                if (!running) co_return;
            }
            continue;
        }
        const bool running = co_await aio::sleep_until(aio::Deadline::in(again));
        if (!running) co_return;
        flush();
    }
}

}  // namespace gpuctl::k8s
