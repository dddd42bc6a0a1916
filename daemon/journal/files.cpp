#include "daemon/journal/files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "aio/process_user.hpp"

namespace gpuctl::journal {

namespace {

constexpr std::string_view kSegmentPrefix = "journal-";
constexpr std::string_view kSegmentSuffix = ".log";
constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr std::string_view kSnapshotSuffix = ".bin";
constexpr std::size_t kDigits = 20;

std::string numbered(std::string_view prefix, Sequence sequence, std::string_view suffix) {
    const std::string digits = std::to_string(static_cast<std::uint64_t>(sequence));
    return std::string{prefix} + std::string(kDigits - digits.size(), '0') + digits +
           std::string{suffix};
}

std::optional<Sequence> parse_numbered(std::string_view prefix, std::string_view name,
                                       std::string_view suffix) {
    if (name.size() != prefix.size() + kDigits + suffix.size()) return std::nullopt;
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
    const std::string_view digits = name.substr(prefix.size(), kDigits);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + kDigits, number);
    if (error != std::errc{} || end != digits.data() + kDigits) return std::nullopt;
    return Sequence{number};
}

}  // namespace

std::string segment_name(Sequence first) { return numbered(kSegmentPrefix, first, kSegmentSuffix); }
std::string outdated_folder(std::string_view layout) {
    return "before-upgrade-" + std::string{layout.substr(layout.rfind(' ') + 1)};
}

std::string snapshot_name(Sequence next) {
    return numbered(kSnapshotPrefix, next, kSnapshotSuffix);
}
std::optional<Sequence> parse_segment_name(std::string_view name) {
    return parse_numbered(kSegmentPrefix, name, kSegmentSuffix);
}
std::optional<Sequence> parse_snapshot_name(std::string_view name) {
    return parse_numbered(kSnapshotPrefix, name, kSnapshotSuffix);
}

Error disk_error(std::string_view doing, const std::string& path, std::int64_t negative_errno) {
    const int number = static_cast<int>(-negative_errno);
    std::string message = std::string{doing} + " " + path + ": ";
    message += number == 0 ? "the disk accepted no bytes" : std::strerror(number);
    if (number == ENOSPC || number == EDQUOT) message += "; free some space and restart gpuctld";
    message += aio::permission_advice(number);
    return make_error(ErrorCode::JournalFailed, message);
}

Error damage(const std::string& path, std::size_t offset, std::string_view what) {
    return make_error(ErrorCode::JournalDamaged,
                      "journal file " + path + " is damaged at byte " + std::to_string(offset) +
                          ": " + std::string{what} +
                          ". gpuctld does not start with it, because acknowledged inputs would be "
                          "missing. Restore the folder from a backup, or move it away to start "
                          "with an empty one (on Kubernetes that loses queue order and history but "
                          "no job; with the embedded cluster it loses the jobs)");
}

Result<std::string> read_whole(Disk& disk, const std::string& path) {
    const int number = disk.open_read(path);
    if (number < 0) return disk_error("open", path, number);
    const File file{disk, number};
    std::string bytes;
    for (;;) {
        const std::size_t before = bytes.size();
        // Most files are small, some are not.
        const std::size_t chunk = std::clamp<std::size_t>(before, 1u << 13, 1u << 20);
        bytes.resize(before + chunk);
        const ssize_t got = disk.read(file.number(), bytes.data() + before, chunk);
        if (got == -EINTR) {
            bytes.resize(before);
            continue;
        }
        if (got < 0) return disk_error("read", path, got);
        bytes.resize(before + static_cast<std::size_t>(got));
        if (got == 0) return bytes;
    }
}

Result<void> write_all(Disk& disk, const File& file, const std::string& path,
                       std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t taken = disk.write(file.number(), bytes.data(), bytes.size());
        if (taken == -EINTR) continue;
        if (taken <= 0) return disk_error("write", path, taken);
        bytes.remove_prefix(static_cast<std::size_t>(taken));
    }
    return {};
}

Result<void> sync_directory(Disk& disk, const std::string& path) {
    const int number = disk.open_directory(path);
    if (number < 0) return disk_error("open", path, number);
    const File directory{disk, number};
    const int failure = disk.sync(directory.number());
    if (failure < 0) return disk_error("fsync", path, failure);
    return {};
}

Result<void> make_directories(Disk& disk, const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        const int failure = disk.make_directory(part);
        const bool is_whole = end == std::string::npos;
        // A parent may exist without write permission (EACCES, EROFS): only the last folder
        // matters.
        if (failure < 0 && failure != -EEXIST && is_whole) {
            return disk_error("create folder", part, failure);
        }
        if (is_whole) return {};
    }
}

}  // namespace gpuctl::journal
