#include "daemon/journal/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace gpuctl::journal {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder & 1) != 0 ? (remainder >> 1) ^ polynomial : remainder >> 1;
        }
        table[byte] = remainder;
    }
    return table;
}

constexpr auto kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                      std::uint32_t before) {
    std::uint64_t remainder = ~before;
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        remainder = __builtin_ia32_crc32di(remainder, word);
    }
    auto narrow = static_cast<std::uint32_t>(remainder);
    for (; left > 0; --left, ++at) {
        narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
    }
    return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before) {
    std::uint32_t remainder = ~before;
    for (const char c : bytes) {
        remainder = kTable[(remainder ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (remainder >> 8);
    }
    return ~remainder;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
    return crc32c_by_table(bytes, before);
}

}  // namespace gpuctl::journal
