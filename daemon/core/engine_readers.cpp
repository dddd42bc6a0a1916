// The engine's listing for readers, and the turns that update it.

#include "aio/turn.hpp"
#include "daemon/core/engine_loop.hpp"

namespace gpuctl::core {

Listing& EngineLoop::listing() {
    (void)state();  // updates the time
    Listing& listing = engine_.listing();
    listing.refresh_starts();
    if (listing.has_work()) work_for_readers();
    return listing;
}

bool EngineLoop::are_starts_old() { return listing().are_starts_too_old(); }

// One piece per turn, so that other work runs in between.
void EngineLoop::work_for_readers() {
    if (works_for_readers_) return;
    works_for_readers_ = true;
    loop_.post([this, alive = alive_] {
        if (!*alive) return;
        aio::Turn::mark("readers");
        works_for_readers_ = false;
        (void)state();
        Listing& listing = engine_.listing();
        listing.work();
        if (listing.has_work()) {
            work_for_readers();
        } else {
            readers_served_.notify_all();
        }
    });
}

aio::Task<void> EngineLoop::renewed_starts(aio::Deadline deadline) {
    while (are_starts_old()) {
        const bool notified = co_await readers_served_.wait(deadline);
        if (!notified) co_return;  // the current data is good enough
    }
}

}  // namespace gpuctl::core
