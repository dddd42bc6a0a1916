#pragma once
// Reads a journal folder without changing it: separates good records, a torn tail and damage
// (format.md), and returns the newest snapshot and every input after it, in order.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {

// The required identity of the folder; an empty string accepts any.
struct Identity {
    std::string mode;
    std::string cluster_id;
};

struct Contents {
    Identity identity;  // empty strings: the folder holds nothing yet
    Sequence next_sequence{1};
    std::uint64_t inputs = 0;              // passed on
    std::string last_segment;              // file name; empty: none
    std::uint64_t last_segment_bytes = 0;  // good ones
    bool last_segment_sealed = false;
    std::uint64_t torn_bytes = 0;       // after the good ones of last_segment
    std::string torn_file;              // last segment whose header never got to disk
    std::vector<std::string> obsolete;  // file names: older than the snapshot, or unfinished
    // File names, snapshots first: in the layout of an older build, needed or not.
    std::vector<std::string> outdated;
    std::string outdated_layout;  // of the newest of them, for messages; or empty
    std::string doubt;            // why the end may be missing, as a sentence; or empty
};

struct Visitor {
    std::function<Result<void>(const std::string& engine_state)> on_snapshot;
    std::function<void(const Input& input)> on_input;
};

Result<Contents> read_journal(Disk& disk, const std::string& directory, const Identity& expected,
                              const Visitor& visitor);

}  // namespace gpuctl::journal
