#include "daemon/journal/snapshot_file.hpp"

#include <cerrno>
#include <vector>

#include "daemon/journal/past.hpp"

namespace gpuctl::journal {

Result<void> write_snapshot_file(Disk& disk, const std::string& directory, const Header& header,
                                 std::string_view state) {
    const std::string path = directory + "/" + snapshot_name(header.sequence);
    if (state.size() > kPayloadBytesMax) {
        return make_error(ErrorCode::JournalFailed,
                          "write " + path + ": the state has " + std::to_string(state.size()) +
                              " bytes, and a snapshot at most " + std::to_string(kPayloadBytesMax));
    }
    const std::string unfinished = path + ".tmp";
    const int stale = disk.remove(unfinished);
    if (stale < 0 && stale != -ENOENT) return disk_error("remove", unfinished, stale);
    const int number = disk.create_new(unfinished);
    if (number < 0) return disk_error("create", unfinished, number);
    const File file{disk, number};
    std::string heads;
    append_frame(heads, encode_header(kSnapshotMagic, header));
    append_frame(heads, encode_layout(kSnapshotMagic));
    append_frame_head(heads, state);
    Result<void> written = write_all(disk, file, unfinished, heads);
    if (written) written = write_all(disk, file, unfinished, state);
    if (!written) return written;
    const int synced = disk.sync_data(number);
    if (synced < 0) return disk_error("fdatasync", unfinished, synced);
    const int renamed = disk.rename(unfinished, path);
    if (renamed < 0) return disk_error("rename", unfinished, renamed);
    return sync_directory(disk, directory);
}

void retire_files_before(Disk& disk, const std::string& directory, Sequence snapshot,
                         std::uint64_t past_bytes_max) {
    std::vector<std::string> names;
    std::vector<std::string> older;
    if (disk.list(directory, names) < 0) return;
    for (const std::string& name : names) {
        const auto first = parse_segment_name(name);
        const auto next = parse_snapshot_name(name);
        const bool is_older = (first && *first < snapshot) || (next && *next < snapshot);
        if (is_older) older.push_back(name);
    }
    move_to_past(disk, directory, older, past_bytes_max);
}

}  // namespace gpuctl::journal
