#pragma once
// The writing half of a journal: one segment open for appending, group commit, snapshots.
//
// Thread: the loop's, except for the fdatasync and the roll, which run on the pool with their own
// reference to the file. Ownership: tasks on the pool hold the Progress, so that the writer may be
// destroyed while one runs.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/journal/files.hpp"
#include "daemon/journal/journal.hpp"
#include "daemon/journal/segment.hpp"

namespace gpuctl::journal {

class Writer final : public Journal {
public:
    Writer(aio::Loop& loop, Disk& disk, JournalSettings settings, std::shared_ptr<File> lock,
           Sequence next);
    ~Writer() override;

    // The content of the folder at the start.
    struct Beginning {
        std::string append_to;  // path of the last segment, to be continued; else a new one begins
        std::uint64_t append_at = 0;
        std::vector<std::string> unwanted;  // file names: removed
        std::vector<std::string> outdated;  // file names: moved to keep_in
        std::string keep_in;
    };
    // Ready for the next input. `engine` has taken every input so far.
    Result<void> begin(const Engine& engine, const Beginning& beginning);

    Result<void> append(const Input& input) override;
    Result<void> flush() override;
    void sync(std::function<void(Result<void>)> done) override;
    [[nodiscard]] bool is_segment_full() const override;
    void roll(std::function<void(Result<void>)> done) override;
    Result<void> write_snapshot(const Engine& engine, Sequence next) override;
    Result<void> close() override;
    [[nodiscard]] JournalPlace place() const override;
    [[nodiscard]] Figures figures() const override;

private:
    struct Waiter {
        Sequence until;  // durable once every input before it is
        std::function<void(Result<void>)> done;
    };
    // The target of a running fdatasync; outlives the writer if necessary.
    struct Progress {
        Writer* writer = nullptr;  // null once the writer is gone
    };

    Result<void> begin_segment();  // at the next sequence
    Result<void> continue_segment(const std::string& path, std::uint64_t bytes);
    Result<void> move_to_folder(const std::string& name, const std::string& folder);
    Result<void> keep_copy(const std::string& name, const std::string& folder);
    Result<void> broken_now(Error error);
    Result<void> check_usable() const;
    Result<void> sync_here();
    [[nodiscard]] Header header_at(Sequence sequence) const;
    [[nodiscard]] SegmentFile segment() const;
    void take_over(SegmentFile segment);
    Result<void> roll_ended(Result<SegmentFile> segment);
    void start_sync();
    void sync_ended(Sequence until, std::uint64_t segment, std::uint64_t bytes, int result,
                    std::uint64_t took_us);
    void answer_waiters();

    aio::Loop& loop_;
    Disk& disk_;
    JournalSettings settings_;
    std::shared_ptr<File> lock_;
    std::shared_ptr<File> file_;
    std::string path_;
    std::uint64_t segment_ = 0;          // counts segments of this writer
    std::uint64_t segment_bytes_ = 0;    // written to the kernel
    std::uint64_t segment_durable_ = 0;  // of those, certainly on disk
    bool segment_has_records_ = false;
    std::string buffer_;
    std::string payload_;
    Sequence next_;     // of the next append
    Sequence flushed_;  // inputs before this one are written to the kernel
    Sequence durable_;  // inputs before this one are on disk
    std::vector<Waiter> waiters_;
    bool sync_in_flight_ = false;
    bool rolling_ = false;  // the pool owns the segment until the roll has ended
    bool closed_ = false;
    std::optional<Error> broken_;
    std::shared_ptr<Progress> progress_;
    Figures figures_;
};

}  // namespace gpuctl::journal
