#pragma once
// Rate limit of best-effort writes. Pure: the time is an argument.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "aio/deadline.hpp"

namespace gpuctl::k8s {

class TokenBucket {
public:
    using Time = aio::Clock::time_point;

    // `per_second` 0: never. A burst of `burst` is allowed after a pause.
    TokenBucket(std::int64_t per_second, std::int64_t burst)
        : interval_(per_second > 0 ? std::chrono::nanoseconds{1'000'000'000 / per_second}
                                   : std::chrono::nanoseconds::zero()),
          burst_(std::max<std::int64_t>(burst, 1)) {}

    // When the next write may be sent; Time::max(): never.
    [[nodiscard]] Time ready_at() const {
        return interval_.count() == 0 ? Time::max() : earned_until_ - interval_ * (burst_ - 1);
    }
    [[nodiscard]] bool take_token(Time now) {
        if (interval_.count() == 0 || now < ready_at()) return false;
        earned_until_ = std::max(earned_until_, now) + interval_;
        return true;
    }

private:
    std::chrono::nanoseconds interval_;
    std::int64_t burst_;
    Time earned_until_{};  // every token up to this time is spent
};

// The rate of writes about pods: `per_second` while pods are being bound, a multiple of it while
// none are. These writes must not take capacity of the API server from bindings, and the backlog
// should drain when there are none.
struct WriteRate {
    std::int64_t per_second = 0;
    std::int64_t quiet_factor = 1;
};

class PacedBudget {
public:
    using Time = TokenBucket::Time;
    explicit PacedBudget(WriteRate rate)
        : busy_(rate.per_second, rate.per_second),
          quiet_(rate.per_second * rate.quiet_factor, rate.per_second) {}

    void binding(Time now) { busy_until_ = now + kQuietAfter; }
    // When take_token() will return a token, unless a pod is bound before.
    [[nodiscard]] Time ready_at(Time now) const {
        if (now >= busy_until_) return quiet_.ready_at();
        const Time busy = busy_.ready_at();
        return busy < busy_until_ ? busy : std::max(quiet_.ready_at(), busy_until_);
    }
    [[nodiscard]] bool take_token(Time now) {
        return now < busy_until_ ? busy_.take_token(now) : quiet_.take_token(now);
    }

private:
    static constexpr std::chrono::seconds kQuietAfter{1};
    TokenBucket busy_;
    TokenBucket quiet_;
    Time busy_until_{};
};

}  // namespace gpuctl::k8s
