#pragma once
// Files that a newer snapshot replaced are moved to the folder `past`, up to a size, for questions
// about what happened. Losing them loses answers, never state: a start reads none of them, and
// after a failure the next start tries again.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/journal/disk.hpp"
#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::journal {

inline constexpr const char* kPastName = "past";

// Moves files of the journal's folder to the past, then removes the oldest beyond `bytes_max` in
// all; 0 removes them at once.
void move_to_past(Disk& disk, const std::string& directory, const std::vector<std::string>& names,
                  std::uint64_t bytes_max);

// The engine at the last snapshot not after `since` (the oldest, if there is none), and then every
// input after it, in order, to the end on disk. Reads while a daemon writes: an incomplete record
// is the end. Errors: NotFound (no journal there), JournalFailed, JournalDamaged, ShuttingDown.
struct PastReader {
    std::function<void(Engine engine)> begin;
    std::function<void(const Input& input)> next;
    std::function<bool()> go_on =
        {};  // called now and then; false: ShuttingDown. Empty: always continue
};
Result<void> read_past(const std::string& directory, Instant since, const PastReader& reader);

}  // namespace gpuctl::journal
