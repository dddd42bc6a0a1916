#pragma once
// The tar format as GNU and BusyBox write and read it (POSIX ustar, GNU long names, pax paths and
// sizes), piece by piece in constant memory. No files here.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

enum class TarKind : std::uint8_t { file, folder, symbolic_link, hard_link, other };

struct TarEntry {
    TarKind kind = TarKind::file;
    std::string name;
    std::string link;  // what a link names
    std::uint64_t size = 0;
    std::uint32_t mode = 0644;
    std::int64_t modified = 0;  // seconds since 1970
};

// The header of an entry; a file's bytes follow, then tar_padding(size).
std::string tar_header(const TarEntry& entry);
std::string tar_padding(std::uint64_t size);
std::string tar_end();

// Reads an archive from pieces of any size.
class TarReader {
public:
    struct Sink {
        std::function<Result<void>(const TarEntry&)> begin;
        std::function<Result<void>(std::string_view)> bytes;  // of a file
        std::function<Result<void>()> end;                    // of a file
    };
    explicit TarReader(Sink sink) : sink_(std::move(sink)) {}

    // ProtocolError: not an archive. Errors of the sink are returned unchanged.
    Result<void> feed(std::string_view bytes);
    // ProtocolError: the archive ends inside an entry, or has no end.
    Result<void> finish() const;
    [[nodiscard]] bool ended() const { return ended_; }

private:
    Result<void> read_header(std::string_view block);
    Result<void> begin_entry(char type, TarEntry entry);
    Result<void> end_data();
    void read_pax(std::string_view text);

    Sink sink_;
    std::string block_;          // less than a block
    std::uint64_t left_ = 0;     // bytes of the present entry
    std::uint64_t padding_ = 0;  // after them
    bool in_file_ = false;       // its bytes go to the sink
    char collecting_ = 0;        // the type of an extension whose text is collected
    std::string collected_;
    std::string next_name_;  // from extensions, for the next entry
    std::string next_link_;
    std::optional<std::uint64_t> next_size_;
    bool ended_ = false;
};

// The parts of a path inside an archive. Errors: absolute, "..", or empty.
Result<std::vector<std::string>> safe_parts(const std::string& name);
// Whether a link inside the folder being written, `depth` folders below its top, stays in it: its
// ".." come first and lead no further than the top. Folders on the way are never links when it is
// written, so each ".." is what it seems.
bool link_stays_inside(const std::string& target, std::size_t depth);

}  // namespace gpuctl::cli
