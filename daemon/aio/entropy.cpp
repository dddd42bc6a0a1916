#include "daemon/aio/entropy.hpp"

#include <random>
#include <string_view>

namespace gpuctl::aio {

std::uint64_t random_seed() {
    std::random_device source;
    return (std::uint64_t{source()} << 32) | source();
}

std::string random_uuid() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::random_device source;
    std::string uuid;
    for (int i = 0; i < 32; ++i) {
        if (i == 8 || i == 12 || i == 16 || i == 20) uuid += '-';
        unsigned digit = source() % 16;
        if (i == 12) digit = 4;
        if (i == 16) digit = 8 | (digit & 3);
        uuid += digits[digit];
    }
    return uuid;
}

}  // namespace gpuctl::aio
