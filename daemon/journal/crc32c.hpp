#pragma once
// CRC-32C (Castagnoli), as in iSCSI, ext4 and most journals: by a CPU instruction where there is
// one, by table elsewhere.

#include <cstdint>
#include <string_view>

namespace gpuctl::journal {

// Of `bytes`, continued from the checksum of the bytes before them.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// By table only; the two are compared in a test.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace gpuctl::journal
