#pragma once
// Versions of what journals and snapshots hold, one for each kind of record, and the steps that
// bring an older one up to date (docs/adr/0034-journals-survive-upgrades.md).
//
// A change of a described type that is reachable from Input or StateImage raises the version of
// that kind and adds its line to tests/golden/layouts.txt, whose test fails until both are done.
// Members and enumerators that only came or went need nothing else (archive_layout.hpp has the
// rules). What was renamed, or means something else now, needs a step here.

#include <cstdint>

#include "scheduler/model/event.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {

inline constexpr std::uint64_t kInputVersion = 4;
inline constexpr std::uint64_t kImageVersion = 6;

// `written` is the version that the value was written in; its members are those of today, with the
// defaults of their structs where that version did not have them.
void upgrade(Input& input, std::uint64_t written);
void upgrade(StateImage& image, std::uint64_t written);

}  // namespace gpuctl
