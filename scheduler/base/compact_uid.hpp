#pragma once
// A Kubernetes uid in sixteen bytes instead of eighty, for tables of objects that are stored by uid
// only. A canonical UUID (36 characters, lower case) is stored exactly and can be read back. Any
// other text is stored as a fingerprint of 128 bits.

#include <boost/describe.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuctl {

struct CompactUid {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    bool is_uuid = false;
    friend auto operator<=>(const CompactUid&, const CompactUid&) = default;
};
BOOST_DESCRIBE_STRUCT(CompactUid, (), (high, low, is_uuid))

CompactUid compact_uid(std::string_view text);
// The UUID as text; empty if the uid was not a canonical UUID.
std::string text_of(const CompactUid& uid);

struct CompactUidHash {
    std::size_t operator()(const CompactUid& uid) const noexcept {
        return static_cast<std::size_t>(uid.high ^ (uid.low * 0x9e3779b97f4a7c15ULL));
    }
};

}  // namespace gpuctl
