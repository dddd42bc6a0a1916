#include "daemon/journal/past.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "daemon/journal/files.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {
namespace {

std::string past_of(const std::string& directory) { return directory + "/" + kPastName; }

std::uint64_t bytes_of(const std::string& path) {
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
    return failed ? 0 : bytes;
}

// Number in the name -> path, of the past and of the journal.
struct Files {
    std::map<Sequence, std::string> segments;
    std::map<Sequence, std::string> snapshots;
};

void find_files(Disk& disk, const std::string& directory, Files& files) {
    std::vector<std::string> names;
    if (disk.list(directory, names) < 0) return;
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        if (const auto first = parse_segment_name(name)) files.segments.emplace(*first, path);
        if (const auto next = parse_snapshot_name(name)) files.snapshots.emplace(*next, path);
    }
}

void prune(Disk& disk, const std::string& past, std::uint64_t bytes_max) {
    Files files;
    find_files(disk, past, files);
    // A snapshot is removed before the inputs after it: without them it is useless.
    std::multimap<Sequence, std::string> by_age;
    by_age.insert(files.snapshots.begin(), files.snapshots.end());
    by_age.insert(files.segments.begin(), files.segments.end());
    std::uint64_t sum = 0;
    for (const auto& [sequence, path] : by_age) sum += bytes_of(path);
    for (const auto& [sequence, path] : by_age) {
        if (sum <= bytes_max) return;
        sum -= std::min(sum, bytes_of(path));
        disk.remove(path);
    }
}

// A snapshot may be made meanwhile: the files that it replaces are moved to the past.
Result<std::string> read_wherever(Disk& disk, const std::string& path) {
    Result<std::string> bytes = read_whole(disk, path);
    if (bytes) return bytes;
    const std::filesystem::path old{path};
    Result<std::string> moved =
        read_whole(disk, past_of(old.parent_path().string()) + "/" + old.filename().string());
    return moved ? std::move(moved) : std::move(bytes);
}

// The engine in a snapshot; unreadable if it is damaged or of a build with an unknown layout.
std::optional<Engine> engine_in(Disk& disk, const std::string& path) {
    const Result<std::string> bytes = read_wherever(disk, path);
    if (!bytes) return std::nullopt;
    const Result<HeadReading> reading = read_head(kSnapshotMagic, *bytes);
    if (!reading || !reading->head) return std::nullopt;
    const auto body = read_frame(std::string_view{*bytes}.substr(reading->head->bytes));
    if (!body) return std::nullopt;
    const std::optional<std::string> image = reading->head->records.decode_image(*body);
    if (!image) return std::nullopt;
    Result<Engine> engine = Engine::import_state(*image);
    if (!engine) return std::nullopt;
    return std::move(*engine);
}

// Passes on the inputs from `next` on; returns where the next file must begin.
Result<Sequence> read_inputs_of(Disk& disk, const std::string& path, Sequence next,
                                const PastReader& reader) {
    const Result<std::string> bytes = read_wherever(disk, path);
    if (!bytes) return bytes.error();
    const Result<HeadReading> reading = read_head(kJournalMagic, *bytes);
    if (!reading || !reading->head) return next;
    std::size_t at = reading->head->bytes;
    while (at < bytes->size()) {
        const auto payload = read_frame(std::string_view{*bytes}.substr(at));
        const auto record =
            payload ? decode_record(*payload, reading->head->records) : std::optional<Record>{};
        if (!record) break;
        at += frame_bytes(*payload);
        const auto* input = std::get_if<Input>(&record->content);
        if (input == nullptr || input->sequence < next) continue;
        if (input->sequence > next) break;
        constexpr std::uint64_t kInputsPerLook = 256;
        const bool is_to_look = static_cast<std::uint64_t>(next) % kInputsPerLook == 0;
        if (is_to_look && reader.go_on && !reader.go_on()) {
            return make_error(ErrorCode::ShuttingDown, "read the past: gpuctld is stopping");
        }
        reader.next(*input);
        next = next_after(next);
    }
    return next;
}

}  // namespace

void move_to_past(Disk& disk, const std::string& directory, const std::vector<std::string>& names,
                  std::uint64_t bytes_max) {
    const std::string past = past_of(directory);
    if (bytes_max > 0 && !names.empty()) disk.make_directory(past);
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const bool is_kept = bytes_max > 0 && disk.rename(path, past + "/" + name) == 0;
        if (!is_kept) disk.remove(path);
    }
    prune(disk, past, bytes_max);
}

Result<void> read_past(const std::string& directory, Instant since, const PastReader& reader) {
    Disk& disk = real_disk();
    Files files;
    find_files(disk, past_of(directory), files);
    find_files(disk, directory, files);
    if (files.segments.empty()) {
        return make_error(ErrorCode::NotFound,
                          "read the past of " + directory + ": there is no journal in this folder");
    }
    const bool reaches_the_beginning = files.segments.begin()->first == Sequence{1};
    Engine engine;
    Sequence next{1};
    bool is_known = reaches_the_beginning;
    for (auto at = files.snapshots.rbegin(); at != files.snapshots.rend(); ++at) {
        std::optional<Engine> found = engine_in(disk, at->second);
        if (!found) break;  // older files depend on files that cannot be read
        const bool is_oldest = std::next(at) == files.snapshots.rend();
        if (is_oldest && reaches_the_beginning && found->state().now() > since) {
            engine = Engine{};
            next = Sequence{1};
            break;
        }
        engine = std::move(*found);
        next = at->first;
        is_known = true;
        if (engine.state().now() <= since) break;
    }
    if (!is_known) {
        return make_error(ErrorCode::JournalDamaged,
                          "read the past of " + directory +
                              ": no snapshot in it can be read by this build, and its first "
                              "segment is not the first one");
    }
    reader.begin(std::move(engine));
    for (const auto& [first, path] : files.segments) {
        if (first > next) break;  // a gap: later files cannot be applied
        const Result<Sequence> read = read_inputs_of(disk, path, next, reader);
        if (!read) return read.error();
        next = *read;
    }
    return {};
}

}  // namespace gpuctl::journal
