#pragma once
// Numbers as 16 hexadecimal digits: hashes of a state, request ids, suffixes of names.

#include <cstdint>
#include <string>

namespace gpuctl::text {

inline std::string hex16(std::uint64_t number) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; number >>= 4U) text[i] = digits[number & 15U];
    return text;
}

}  // namespace gpuctl::text
