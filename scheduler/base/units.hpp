#pragma once
// Quantities as integers with the unit in their type. Different units do not mix. Arithmetic is
// checked: an overflow is a bug, because limits on input keep every sum far below 2^63.

#include <compare>
#include <cstdint>

#include "scheduler/base/check.hpp"

namespace gpuctl {

template <typename Tag>
class Quantity {
public:
    using value_type = std::int64_t;

    constexpr Quantity() = default;
    explicit constexpr Quantity(value_type value) : value_(value) {}

    [[nodiscard]] constexpr value_type value() const { return value_; }

    friend constexpr auto operator<=>(Quantity, Quantity) = default;

    friend constexpr Quantity operator+(Quantity a, Quantity b) {
        value_type sum{};
        GPUCTL_CHECK(!__builtin_add_overflow(a.value_, b.value_, &sum), "quantity overflow");
        return Quantity{sum};
    }
    friend constexpr Quantity operator-(Quantity a, Quantity b) {
        value_type difference{};
        GPUCTL_CHECK(!__builtin_sub_overflow(a.value_, b.value_, &difference), "quantity overflow");
        return Quantity{difference};
    }
    friend constexpr Quantity operator*(Quantity a, value_type times) {
        value_type product{};
        GPUCTL_CHECK(!__builtin_mul_overflow(a.value_, times, &product), "quantity overflow");
        return Quantity{product};
    }
    constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
    constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

private:
    value_type value_ = 0;
};

using GpuMilli = Quantity<struct GpuMilliTag>;  // thousandths of one GPU
using CpuMilli = Quantity<struct CpuMilliTag>;  // thousandths of one core
using Bytes = Quantity<struct BytesTag>;

inline constexpr std::int64_t kGpuMilliPerGpu = 1000;

constexpr GpuMilli whole_gpus(std::int64_t count) { return GpuMilli{kGpuMilliPerGpu} * count; }

// The number of whole GPUs that fit into `amount`, rounded towards zero.
constexpr std::int64_t whole_gpus_floor(GpuMilli amount) {
    return amount.value() / kGpuMilliPerGpu;
}
// The number of whole GPUs that an amount of zero or more occupies, rounded up.
constexpr std::int64_t whole_gpus_ceil(GpuMilli amount) {
    return (amount.value() + kGpuMilliPerGpu - 1) / kGpuMilliPerGpu;
}

}  // namespace gpuctl
