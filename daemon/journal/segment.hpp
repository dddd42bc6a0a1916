#pragma once
// A segment of the journal as a file: begin, seal, and the step to the next one. Blocks on the
// disk; any thread, while no other thread writes to the segment.

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {

struct SegmentFile {
    std::shared_ptr<File> file;
    std::string path;
    std::uint64_t bytes = 0;  // written to the kernel
};

// A new file with a header, on disk and listed in its folder.
Result<SegmentFile> create_segment(Disk& disk, const std::string& directory, const Header& header);

// The seal states that everything before it is on disk, which is ensured before it is written. The
// seal itself is on disk when this returns.
Result<void> seal_segment(Disk& disk, SegmentFile& segment, Sequence next);

// Seals `old` and begins the segment of `header`. After a power cut at any time, either `old` is
// the last segment, sealed or not, or the new one follows a sealed `old`.
Result<SegmentFile> roll_segment(Disk& disk, SegmentFile& old, const std::string& directory,
                                 const Header& header);

}  // namespace gpuctl::journal
