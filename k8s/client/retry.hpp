#pragma once
// When to try again. Pure: time and randomness come in as arguments.

#include <chrono>
#include <cstdint>

#include "aio/deadline.hpp"
#include "scheduler/base/rng.hpp"

namespace gpuctl::k8s {

// What sending the same request twice could do.
//   never  nothing is sent twice (evictions, where 429 is an answer; lease rounds, which repeat
//   anyway) safe   repeating is harmless: reads, server-side apply, deletes with a uid precondition
//   keyed  repeating is refused by the server (uid, resourceVersion), but the outcome of the first
//   sending must be read back: sent again only when certainly not processed
enum class RetryClass : std::uint8_t { never, safe, keyed };

// Doubling delays with full jitter: uniform in [0, current], so that many waiters spread out.
class Backoff {
public:
    struct Settings {
        std::chrono::milliseconds first{800};
        std::chrono::milliseconds cap{30'000};
        std::chrono::milliseconds reset_after{120'000};  // of health
    };
    enum class Jitter : std::uint8_t {
        full,    // uniform in [0, d]
        on_top,  // uniform in [d, 2d], as client-go's reflector
    };

    Backoff(Settings settings, Jitter jitter, std::uint64_t seed);

    // The delay before the next attempt, after a failure at `now`.
    std::chrono::milliseconds next(aio::Clock::time_point now);
    void reset();

private:
    Settings settings_;
    Jitter jitter_;
    Rng rng_;
    std::chrono::milliseconds current_;
    aio::Clock::time_point last_failure_{};
};

// Bounds retries to a share of requests, so that an overloaded server is not loaded further: each
// request earns a tenth of a retry, up to `tokens_max` saved.
class RetryBudget {
public:
    explicit RetryBudget(std::uint32_t tokens_max = 100) : tenths_max_(tokens_max * 10ULL) {
        tenths_ = tenths_max_;
    }
    void on_request() { tenths_ = tenths_ < tenths_max_ ? tenths_ + 1 : tenths_max_; }
    [[nodiscard]] bool take_token() {
        if (tenths_ < 10) return false;
        tenths_ -= 10;
        return true;
    }

private:
    std::uint64_t tenths_max_;
    std::uint64_t tenths_;
};

}  // namespace gpuctl::k8s
