#pragma once
// Files of a journal folder: their names, whole reads, and errors as sentences.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/journal/disk.hpp"
#include "scheduler/base/ids.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::journal {

inline constexpr const char* kLockName = "lock";

std::string segment_name(Sequence first);
std::string snapshot_name(Sequence next);
// The folder for files in an older layout, named by the last word that distinguishes it
// (frame.hpp).
std::string outdated_folder(std::string_view layout);
// The number in the name, or nullopt when it is not a name of that kind.
std::optional<Sequence> parse_segment_name(std::string_view name);
std::optional<Sequence> parse_snapshot_name(std::string_view name);

// "write /var/lib/gpuctl/x/journal-1.log: No space left on device".
Error disk_error(std::string_view doing, const std::string& path, std::int64_t negative_errno);
Error damage(const std::string& path, std::size_t offset, std::string_view what);

Result<std::string> read_whole(Disk& disk, const std::string& path);

// Closes on destruction. Shared with the pool while an fdatasync of it runs.
class File {
public:
    File(Disk& disk, int number) : disk_(disk), number_(number) {}
    ~File() { disk_.close(number_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int number() const { return number_; }

private:
    Disk& disk_;
    int number_;
};

Result<void> write_all(Disk& disk, const File& file, const std::string& path,
                       std::string_view bytes);
Result<void> sync_directory(Disk& disk, const std::string& path);
// With parents; an existing folder is left as it is.
Result<void> make_directories(Disk& disk, const std::string& path);

}  // namespace gpuctl::journal
