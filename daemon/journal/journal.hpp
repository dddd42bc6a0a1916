#pragma once
// The journal: every input the engine ever took, in order, so that state = snapshot + replay.
//
// On disk (format.md), one folder per cluster: `journal-<first sequence>.log` segments of framed
// records [length u32][crc32c u32][payload], the first two a header {magic, versions, mode, cluster
// id} and the layout of the records; `snapshot-<sequence>.bin` written beside and renamed. A torn
// tail of the last segment is cut; damage anywhere else is JournalDamaged and refuses to start.
// What an older build wrote is read as its layout says, and its files are kept. A lock file keeps a
// second daemon out.
//
// Thread: append() and request_sync() on the loop thread; write() of the batch happens there, too
// (page cache); fdatasync and rolls run on the pool, and the callback comes back on the loop.
// Snapshots are made of the files by a thread of their own: rebuild_engine(), compact().

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/aio/loop.hpp"
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
    // Of a journal that an older build wrote: what it was, for people, and the folder that its
    // files lie in from now on; else empty.
    std::string upgraded_from;
    std::string kept_in;
};

// Disk calls behind a seam, so that tests can fail the N-th one.
class Disk;
Disk& real_disk();

// A journal's folder, for work beside the loop.
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

    // Buffers the record; flush() hands all buffered records to the kernel in one write. After a
    // failed write or fsync the journal is broken for good and every call says so.
    virtual Result<void> append(const Input& input) = 0;
    virtual Result<void> flush() = 0;
    // Calls `done` on the loop once everything flushed so far is on disk (group commit).
    virtual void sync(std::function<void(Result<void>)> done) = 0;
    // Time to roll(): until then the segment grows on.
    [[nodiscard]] virtual bool is_segment_full() const = 0;
    // Seals the segment and begins the next one, on the pool. Behind a flush(); until `done` is
    // called on the loop nothing may be appended or flushed (CHECK). An error breaks the journal.
    virtual void roll(std::function<void(Result<void>)> done) = 0;
    // Writes a snapshot of the engine at this point and drops older segments, all of it on the
    // calling thread: to save what is in memory where the files are damaged. Else compact() does
    // it from the files, on another thread.
    virtual Result<void> write_snapshot(const Engine& engine, Sequence next) = 0;
    virtual Result<void> close() = 0;
    // Where it lies; whoever writes there beside the journal holds the lock of the folder as well.
    [[nodiscard]] virtual JournalPlace place() const = 0;

    struct Figures {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        std::uint64_t syncs = 0;
        std::uint64_t sync_us_total = 0;
    };
    [[nodiscard]] virtual Figures figures() const = 0;
};

// The engine as it was before input `next`, made of the newest snapshot and the inputs behind it,
// while a daemon goes on writing there. `next` was flushed by then. Blocks on the disk; any thread,
// none at the same time as compact(). Gives up with ShuttingDown once `stop` is true.
Result<Engine> rebuild_engine(const JournalPlace& place, Sequence next,
                              const std::atomic<bool>& stop);
// Writes the snapshot of an engine that has taken every input before `next`, where a segment
// begins, and moves the files that it replaces to the past. As rebuild_engine() in all else.
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
// Calls `observer` after each input with the engine and what it asked for.
using ReplayObserver =
    std::function<void(const Engine& engine, const Input& input, const EffectList&)>;
Result<ReplayReport> replay(const std::string& directory, const ReplayObserver& observer);
Result<std::vector<Input>> read_inputs(const std::string& directory);

}  // namespace gpuctl::journal
