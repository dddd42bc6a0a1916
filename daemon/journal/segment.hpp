#pragma once
// A segment of the journal as a file: its begin, its seal, and the step from one to the next.
// Blocks on the disk; any thread, while no other one writes to the segment.

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {

struct SegmentFile {
    std::shared_ptr<File> file;
    std::string path;
    std::uint64_t bytes = 0;  // given to the kernel
};

// A new file with a header, on disk and listed in its folder.
Result<SegmentFile> create_segment(Disk& disk, const std::string& directory, const Header& header);

// The seal vouches for everything before it, so that is on disk when the seal is written. The seal
// itself is when this returns.
Result<void> seal_segment(Disk& disk, SegmentFile& segment, Sequence next);

// Seals `old` and begins the segment of `header`. A power cut at any moment leaves either `old` as
// the last segment, sealed or not, or the new one behind a sealed `old`.
Result<SegmentFile> roll_segment(Disk& disk, SegmentFile& old, const std::string& directory,
                                 const Header& header);

}  // namespace gpuctl::journal
