#pragma once
// A point on the monotonic clock by which a wait must end. The caller passes it down, so that
// nested waits share one budget.

#include <algorithm>
#include <chrono>

namespace gpuctl::aio {

using Clock = std::chrono::steady_clock;

class Deadline {
public:
    explicit Deadline(Clock::time_point at) : at_(at) {}
    static Deadline in(Clock::duration span) { return Deadline{Clock::now() + span}; }
    static Deadline earlier(Deadline a, Deadline b) { return Deadline{std::min(a.at_, b.at_)}; }

    [[nodiscard]] Clock::time_point at() const { return at_; }
    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
    [[nodiscard]] Clock::duration left() const {
        return std::max(at_ - Clock::now(), Clock::duration::zero());
    }

private:
    Clock::time_point at_;
};

}  // namespace gpuctl::aio
