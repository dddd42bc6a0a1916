// Opening a journal: lock, recovery, and repair of a torn tail.

#include "daemon/journal/journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "aio/entropy.hpp"
#include "daemon/journal/reader.hpp"
#include "daemon/journal/writer.hpp"

namespace gpuctl::journal {

namespace {

Result<std::shared_ptr<File>> lock_folder(Disk& disk, const std::string& directory) {
    const std::string path = directory + "/" + kLockName;
    const int number = disk.open_or_create(path);
    if (number < 0) return disk_error("open", path, number);
    auto file = std::make_shared<File>(disk, number);
    const int failure = disk.lock_exclusively(number);
    if (failure == -EWOULDBLOCK) {
        const Result<std::string> holder = read_whole(disk, path);
        const std::string pid = holder ? holder->substr(0, holder->find('\n')) : "";
        return make_error(ErrorCode::JournalFailed,
                          "journal folder " + directory + " is in use by another gpuctld" +
                              (pid.empty() ? "" : " (process " + pid + ")") +
                              "; stop it first, or choose another journal.directory");
    }
    if (failure < 0) return disk_error("lock", path, failure);
    const int cut = disk.truncate(number, 0);
    if (cut < 0) return disk_error("truncate", path, cut);
    const Result<void> written = write_all(disk, *file, path, std::to_string(::getpid()) + "\n");
    if (!written) return written.error();
    return file;
}

// Removes the torn tail, so that new records follow the last good one.
Result<void> cut_tail(Disk& disk, const std::string& path, std::uint64_t good_bytes) {
    const int number = disk.open_append(path);
    if (number < 0) return disk_error("open", path, number);
    const File file{disk, number};
    const int cut = disk.truncate(number, static_cast<std::int64_t>(good_bytes));
    if (cut < 0) return disk_error("truncate", path, cut);
    const int synced = disk.sync_data(number);
    if (synced < 0) return disk_error("fdatasync", path, synced);
    return {};
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(aio::Loop& loop, Disk& disk,
                                               JournalSettings settings, Recovered& recovered) {
    const Result<void> made = make_directories(disk, settings.directory);
    if (!made) return made.error();
    Result<std::shared_ptr<File>> lock = lock_folder(disk, settings.directory);
    if (!lock) return lock.error();

    recovered = Recovered{};
    EffectList effects;  // of the past: after a start the engine requests effects again
    Visitor visitor;
    visitor.on_snapshot = [&](const std::string& state) -> Result<void> {
        Result<Engine> engine = Engine::import_state(state);
        if (!engine) return engine.error();
        recovered.engine = std::move(*engine);
        return {};
    };
    visitor.on_input = [&](const Input& input) {
        effects.clear();
        recovered.engine.step(input, effects);
    };
    const Result<Contents> contents = read_journal(
        disk, settings.directory, Identity{settings.mode, settings.cluster_id}, visitor);
    if (!contents) return contents.error();

    if (settings.cluster_id.empty()) settings.cluster_id = contents->identity.cluster_id;
    if (settings.cluster_id.empty()) settings.cluster_id = aio::random_uuid();
    recovered.next_sequence = contents->next_sequence;
    recovered.cluster_id = settings.cluster_id;
    recovered.inputs_replayed = contents->inputs;
    recovered.bytes_cut = contents->torn_bytes;
    recovered.doubt = contents->doubt;

    Writer::Beginning beginning;
    beginning.unwanted = contents->obsolete;
    if (!contents->torn_file.empty()) beginning.unwanted.push_back(contents->torn_file);
    beginning.outdated = contents->outdated;
    const bool is_outdated = std::find(contents->outdated.begin(), contents->outdated.end(),
                                       contents->last_segment) != contents->outdated.end();
    const bool has_end = !contents->last_segment.empty() && contents->torn_file.empty();
    if (has_end && !is_outdated) {
        const std::string path = settings.directory + "/" + contents->last_segment;
        if (contents->torn_bytes > 0) {
            const Result<void> cut = cut_tail(disk, path, contents->last_segment_bytes);
            if (!cut) return cut.error();
        }
        if (!contents->last_segment_sealed) beginning.append_to = path;
        beginning.append_at = contents->last_segment_bytes;
        // Closed right after a snapshot: sealed without an input, under the name that the next
        // segment needs.
        if (contents->last_segment_sealed &&
            contents->last_segment == segment_name(contents->next_sequence)) {
            beginning.unwanted.push_back(contents->last_segment);
        }
    }
    if (!contents->outdated.empty()) {
        recovered.upgraded_from = contents->outdated_layout;
        recovered.kept_in = settings.directory + "/" + outdated_folder(contents->outdated_layout);
        beginning.keep_in = recovered.kept_in;
    }
    auto writer = std::make_unique<Writer>(loop, disk, std::move(settings), std::move(*lock),
                                           contents->next_sequence);
    const Result<void> begun = writer->begin(recovered.engine, beginning);
    if (!begun) return begun.error();
    return std::unique_ptr<Journal>{std::move(writer)};
}

}  // namespace gpuctl::journal
