#pragma once
// Snapshot files, in the folder of the segments. Blocks on the disk; any thread, one at a time.

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {

// `state` is Engine::export_state() of the engine before input header.sequence, with which a
// segment begins. The file is renamed when all of it is on disk: a crash at any time leaves the
// older snapshot, and perhaps an incomplete file that the next start removes.
Result<void> write_snapshot_file(Disk& disk, const std::string& directory, const Header& header,
                                 std::string_view state);

// Moves the snapshots and segments before that snapshot to the past (past.hpp). Files that cannot
// be moved or removed now are obsolete and removed at the next start.
void retire_files_before(Disk& disk, const std::string& directory, Sequence snapshot,
                         std::uint64_t past_bytes_max);

}  // namespace gpuctl::journal
