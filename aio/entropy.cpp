#include "aio/entropy.hpp"

#include <random>

#include "text/hex.hpp"

namespace gpuctl::aio {
namespace {

// 128 bits as a UUID, with the version and the variant of RFC 9562 put in.
std::string uuid(std::uint64_t high, std::uint64_t low, std::uint64_t version) {
    high = (high & ~(std::uint64_t{15} << 12U)) | version << 12U;
    low = (low >> 2U) | std::uint64_t{1} << 63U;
    std::string digits = text::hex16(high) + text::hex16(low);
    for (const std::size_t at : {8U, 13U, 18U, 23U}) digits.insert(at, 1, '-');
    return digits;
}

}  // namespace

std::uint64_t random_seed() {
    std::random_device source;
    return (std::uint64_t{source()} << 32) | source();
}

std::string random_uuid() {
    const std::uint64_t high = random_seed();
    return uuid(high, random_seed(), 4);
}

std::string time_ordered_uuid(std::int64_t wall_ms) {
    const std::uint64_t random = random_seed();
    const std::uint64_t time = static_cast<std::uint64_t>(wall_ms) << 16U;
    return uuid(time | (random & 0xffffU), random_seed(), 7);
}

}  // namespace gpuctl::aio
