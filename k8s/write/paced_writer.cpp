#include "k8s/write/paced_writer.hpp"

#include <algorithm>

#include "aio/loop.hpp"

namespace gpuctl::k8s {

void PacedWriter::lead(std::optional<Epoch> epoch) {
    epoch_ = epoch;
    wake();
}

aio::Task<void> PacedWriter::run() {
    constexpr std::chrono::seconds longest_wait{60};
    for (;;) {
        const Time now = aio::Clock::now();
        const Time at = epoch_ ? next_at(now) : Time::max();
        if (at <= now) {
            co_await write_next(now, *epoch_);
            continue;
        }
        const Time until = std::min(at, now + longest_wait);
        const bool notified = co_await changed_.wait(aio::Deadline{until});
        if (notified) continue;
        // Deadline or cancellation: the result of the sleep says which.
        const bool running = co_await aio::sleep_until(aio::Deadline{now});
        if (!running) co_return;
    }
}

}  // namespace gpuctl::k8s
