#pragma once
// Points and spans of time in whole milliseconds. There is no now() here: the time is always an
// argument.

#include <compare>
#include <cstdint>

namespace gpuctl {

class Duration {
public:
    constexpr Duration() = default;
    explicit constexpr Duration(std::int64_t ms) : ms_(ms) {}
    static constexpr Duration seconds(std::int64_t s) { return Duration{s * 1000}; }
    [[nodiscard]] constexpr std::int64_t ms() const { return ms_; }
    friend constexpr auto operator<=>(Duration, Duration) = default;
    friend constexpr Duration operator+(Duration a, Duration b) { return Duration{a.ms_ + b.ms_}; }
    friend constexpr Duration operator-(Duration a, Duration b) { return Duration{a.ms_ - b.ms_}; }
    friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration{a.ms_ * n}; }

private:
    std::int64_t ms_ = 0;
};

// Milliseconds since 1970-01-01 UTC. The default value means "never happened".
class Instant {
public:
    constexpr Instant() = default;
    explicit constexpr Instant(std::int64_t ms) : ms_(ms) {}
    [[nodiscard]] constexpr std::int64_t ms() const { return ms_; }
    [[nodiscard]] constexpr bool happened() const { return ms_ != 0; }
    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Instant operator+(Instant t, Duration d) { return Instant{t.ms_ + d.ms()}; }
    friend constexpr Duration operator-(Instant a, Instant b) { return Duration{a.ms_ - b.ms_}; }

private:
    std::int64_t ms_ = 0;
};

}  // namespace gpuctl
