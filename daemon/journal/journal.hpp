#pragma once
// The journal: every input of the engine, in order, so that state = snapshot + replay.
//
// On disk (format.md), one folder per cluster: `journal-<first sequence>.log` segments of framed
// records [length u32][crc32c u32][payload], the first two a header {magic, versions, mode, cluster
// id} and the layout of the records; `snapshot-<sequence>.bin` written under another name and
// renamed. A torn tail of the last segment is cut; damage anywhere else is JournalDamaged and
// refuses to start. Files of an older build are read by the layout that they hold, and are kept. A
// lock file keeps a second daemon out.
//
// Thread: append() and request_sync() on the loop thread; write() of the batch happens there, too
// (page cache); fdatasync and rolls run on the pool, and the callback comes back on the loop.
// Snapshots are made from the files by another thread: rebuild_engine(), compact().

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aio/loop.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::journal {

struct JournalSettings {
    std::string directory;   // the cluster's own folder
    std::string mode;        // "embedded" or "kubernetes"
    std::string cluster_id;  // empty on first use of an embedded cluster: one is generated
    std::size_t segment_bytes_max = 64u << 20;
    std::uint64_t past_bytes_max = 0;  // of files that a newer snapshot replaced (past.hpp)
};

struct Recovered {
    Engine engine;
    Sequence next_sequence{};
    std::string cluster_id;
    std::uint64_t inputs_replayed = 0;
    std::uint64_t bytes_cut = 0;  // of a torn tail
    std::string doubt;            // why inputs may be missing at the end, as a sentence; or empty
    // If an older build wrote the journal: its layout, for messages, and the folder that its files
    // were moved to; else empty.
    std::string upgraded_from;
    std::string kept_in;
};

// Disk calls behind an interface, so that tests can fail the N-th one.
class Disk;
Disk& real_disk();

// A journal's folder, for work in parallel with the loop.
struct JournalPlace {
    Disk* disk = nullptr;
    std::string directory;
    std::string mode;
    std::string cluster_id;
    std::uint64_t past_bytes_max = 0;
    std::shared_ptr<void> lock;  // held while any copy of this exists
};

class Journal {
public:
    static Result<std::unique_ptr<Journal>> open(aio::Loop& loop, Disk& disk,
                                                 JournalSettings settings, Recovered& recovered);
    virtual ~Journal() = default;

    // Buffers the record; flush() writes all buffered records in one write. After a failed write or
    // fsync the journal is broken for good and every call returns its error.
    virtual Result<void> append(const Input& input) = 0;
    virtual Result<void> flush() = 0;
    // Calls `done` on the loop once everything flushed so far is on disk (group commit).
    virtual void sync(std::function<void(Result<void>)> done) = 0;
    // Whether the segment is long enough for roll().
    [[nodiscard]] virtual bool is_segment_full() const = 0;
    // Seals the segment and begins the next one, on the pool. Call after flush(); until `done` is
    // called on the loop, append and flush are not allowed (CHECK). An error breaks the journal.
    virtual void roll(std::function<void(Result<void>)> done) = 0;
    // Writes a snapshot of the engine now and drops older segments, on the calling thread: for a
    // state in memory whose files are damaged. Otherwise compact() makes it from the files, on
    // another thread.
    virtual Result<void> write_snapshot(const Engine& engine, Sequence next) = 0;
    virtual Result<void> close() = 0;
    // The folder; code that writes there in parallel with the journal holds the lock of the folder
    // as well.
    [[nodiscard]] virtual JournalPlace place() const = 0;

    struct Figures {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        std::uint64_t syncs = 0;
        std::uint64_t sync_us_total = 0;
    };
    [[nodiscard]] virtual Figures figures() const = 0;
};

// The engine before input `next`, from the newest snapshot and the inputs after it, while a daemon
// writes to the folder. `next` is flushed already. Blocks on the disk; any thread, not in parallel
// with compact(). Returns ShuttingDown once `stop` is true.
Result<Engine> rebuild_engine(const JournalPlace& place, Sequence next,
                              const std::atomic<bool>& stop);
// Writes the snapshot of an engine that has taken every input before `next`, where a segment
// begins, and moves the files that it replaces to the past. Otherwise like rebuild_engine().
Result<void> compact(const JournalPlace& place, const Engine& engine, Sequence next);

// Reads a journal folder without opening it for writing (replay, verification).
struct ReplayReport {
    std::uint64_t inputs = 0;
    std::uint64_t effects = 0;
    Sequence last_sequence{};
    std::uint64_t state_hash = 0;
    std::string cluster_id;
    std::string mode;
    std::uint64_t bytes_torn = 0;  // an unfinished tail that the next start would cut
};
Result<ReplayReport> replay(const std::string& directory);
// Calls `observer` after each input with the engine and its effects.
using ReplayObserver =
    std::function<void(const Engine& engine, const Input& input, const EffectList&)>;
Result<ReplayReport> replay(const std::string& directory, const ReplayObserver& observer);
Result<std::vector<Input>> read_inputs(const std::string& directory);

}  // namespace gpuctl::journal
