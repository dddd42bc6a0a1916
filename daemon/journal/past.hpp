#pragma once
// What a newer snapshot made superfluous for a start is kept in the folder `past` beside it, up to
// a size, for questions about what happened. Losing any of it loses answers, never state: nothing
// of it is read by a start, and whatever goes wrong with it is left for the next time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/journal/disk.hpp"
#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::journal {

inline constexpr const char* kPastName = "past";

// Moves files of the journal's folder there, then removes the oldest beyond `bytes_max` together;
// 0 removes at once.
void move_to_past(Disk& disk, const std::string& directory, const std::vector<std::string>& names,
                  std::uint64_t bytes_max);

// The engine as it was at the last snapshot not after `since` (the oldest there is, if none is so
// old), and then every input behind it, in order, to the end of what is on disk. Reads while a
// daemon writes: an unfinished end is the end.
// Errors: NotFound (no journal there), JournalFailed, JournalDamaged, ShuttingDown.
struct PastReader {
    std::function<void(Engine engine)> begin;
    std::function<void(const Input& input)> next;
    std::function<bool()> go_on = {};  // asked now and then; false: ShuttingDown. Empty: always
};
Result<void> read_past(const std::string& directory, Instant since, const PastReader& reader);

}  // namespace gpuctl::journal
