#include "k8s/client/retry.hpp"

#include <algorithm>

namespace gpuctl::k8s {

Backoff::Backoff(Settings settings, Jitter jitter, std::uint64_t seed)
    : settings_(settings), jitter_(jitter), rng_(seed), current_(settings.first) {}

std::chrono::milliseconds Backoff::next(aio::Clock::time_point now) {
    if (now - last_failure_ > settings_.reset_after) reset();
    last_failure_ = now;
    const std::int64_t base = current_.count();
    current_ = std::min(current_ * 2, settings_.cap);
    const std::int64_t random = rng_.between(0, base);
    return std::chrono::milliseconds{jitter_ == Jitter::full ? random : base + random};
}

void Backoff::reset() { current_ = settings_.first; }

}  // namespace gpuctl::k8s
