#pragma once
// How often best-effort writes may go out. Pure: the time is an argument.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "daemon/aio/deadline.hpp"

namespace gpuctl::k8s {

class TokenBucket {
public:
    using Time = aio::Clock::time_point;

    // `per_second` 0: never. A burst of `burst` is allowed after a pause.
    TokenBucket(std::int64_t per_second, std::int64_t burst)
        : interval_(per_second > 0 ? std::chrono::nanoseconds{1'000'000'000 / per_second}
                                   : std::chrono::nanoseconds::zero()),
          burst_(std::max<std::int64_t>(burst, 1)) {}

    // When the next one may go; Time::max(): never.
    [[nodiscard]] Time ready_at() const {
        return interval_.count() == 0 ? Time::max() : earned_until_ - interval_ * (burst_ - 1);
    }
    [[nodiscard]] bool take(Time now) {
        if (interval_.count() == 0 || now < ready_at()) return false;
        earned_until_ = std::max(earned_until_, now) + interval_;
        return true;
    }

private:
    std::chrono::nanoseconds interval_;
    std::int64_t burst_;
    Time earned_until_{};  // every token up to here is spent
};

}  // namespace gpuctl::k8s
