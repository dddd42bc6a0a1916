// Each call to the disk fails once, or for good, with and without a power cut right after:
// everything acknowledged is there at the next start. Snapshots are made from memory and from the
// files.

#include "unit/journal/faulty_disk.hpp"

#include "unit/journal/journal_fixture.hpp"

namespace gpuctl::journal {
namespace {

class FaultTest : public JournalTest {
protected:
    struct Run {
        std::uint64_t acknowledged = 0;  // inputs
        std::uint64_t calls = 0;
        std::optional<Error> failure;
    };

    enum class SnapshotOf : bool { memory, files };
    enum class Power : bool { stays, is_cut };

    // As in the replica, here on the test's own thread so that calls have one order.
    Result<void> compact_files(Journal& journal, Sequence next) {
        const Result<void> rolled = roll(journal);
        if (!rolled) return rolled;
        const std::atomic<bool> stop{false};
        const Result<Engine> rebuilt = rebuild_engine(journal.place(), next, stop);
        if (!rebuilt) return rebuilt.error();
        return compact(journal.place(), *rebuilt, next);
    }

    // One run of a daemon: inputs in batches, a snapshot in between, segments rolling, a clean
    // stop.
    Run run_daemon(FaultyDisk& disk) {
        Run run;
        Recovered mine;
        auto journal = Journal::open(loop, disk, settings(), mine);
        if (!journal) {
            run.failure = journal.error();
            return run;
        }
        EffectList effects;
        auto next = static_cast<std::uint64_t>(mine.next_sequence);
        run.acknowledged = next - 1;
        for (int batch = 0; batch < 6 && !run.failure; ++batch) {
            for (int i = 0; i < 3 && !run.failure; ++i) {
                record(run, (*journal)->append(make_input(next)));
                if (run.failure) break;
                mine.engine.step(make_input(next), effects);
                ++next;
            }
            if (!run.failure) record(run, flush_and_roll(**journal));
            const Result<void> synced = sync(**journal);
            if (synced && !run.failure) run.acknowledged = next - 1;
            record(run, synced);
            if (batch == 2 && !run.failure) {
                const Result<void> snapshot =
                    snapshot_of == SnapshotOf::memory
                        ? (*journal)->write_snapshot(mine.engine, Sequence{next})
                        : compact_files(**journal, Sequence{next});
                if (!snapshot) snapshot_failures.push_back(snapshot.error().message);
            }
        }
        const Result<void> closed = (*journal)->close();
        record(run, closed);
        if (run.failure) {  // once broken, always broken
            EXPECT_FALSE((*journal)->append(make_input(next)).has_value());
            EXPECT_FALSE((*journal)->flush().has_value());
            EXPECT_FALSE(sync(**journal).has_value());
        }
        run.calls = disk.calls();
        return run;
    }
    void record(Run& run, const Result<void>& result) {
        if (!result && !run.failure) run.failure = result.error();
    }

    // One run with the fault, then a power cut, then a start on a healthy disk.
    void survive(std::uint64_t fails_at, int error, bool forever) {
        std::filesystem::remove_all(root + "/state");
        FaultyDisk disk{fails_at, error, forever};
        const Run run = run_daemon(disk);
        if (run.failure) {
            EXPECT_FALSE(run.failure->message.empty());
            EXPECT_EQ(run.failure->code, ErrorCode::JournalFailed) << run.failure->message;
        }
        if (power == Power::is_cut) disk.cut_power();
        Recovered after;
        const auto journal = Journal::open(loop, real_disk(), settings(), after);
        ASSERT_TRUE(journal.has_value()) << "call " << fails_at << ": " << journal.error().message;
        const auto found = static_cast<std::uint64_t>(after.next_sequence) - 1;
        EXPECT_GE(found, run.acknowledged) << "call " << fails_at;
        EXPECT_LE(found, 18u);
        EXPECT_EQ(after.engine.state_hash(), hashes.at(found)) << "call " << fails_at;
        worst_loss = std::max(worst_loss, run.acknowledged - std::min(found, run.acknowledged));
    }
    void survive_all(int error, bool forever) {
        for (const Power then : {Power::is_cut, Power::stays}) {
            for (const SnapshotOf made_of : {SnapshotOf::memory, SnapshotOf::files}) {
                power = then;
                snapshot_of = made_of;
                survive_each_call(error, forever);
            }
        }
    }
    void survive_each_call(int error, bool forever) {
        segment_bytes_max = 700;
        hashes.clear();
        snapshot_failures.clear();
        std::filesystem::remove_all(root + "/state");
        for (std::uint64_t i = 0; i <= 18; ++i) hashes.push_back(hash_after(i));
        FaultyDisk healthy{0, error, forever};
        const Run run = run_daemon(healthy);
        ASSERT_FALSE(run.failure) << run.failure->message;
        ASSERT_EQ(run.acknowledged, 18u);
        ASSERT_GT(run.calls, 40u);
        for (std::uint64_t call = 1; call <= run.calls; ++call) survive(call, error, forever);
        EXPECT_FALSE(snapshot_failures.empty());
    }

    Power power = Power::is_cut;
    SnapshotOf snapshot_of = SnapshotOf::memory;
    std::vector<std::uint64_t> hashes;
    std::vector<std::string> snapshot_failures;
    std::uint64_t worst_loss = 0;
};

TEST_F(FaultTest, an_input_output_error_of_any_single_call_loses_nothing_acknowledged) {
    survive_all(EIO, false);
}

TEST_F(FaultTest, a_disk_that_dies_at_any_call_loses_nothing_acknowledged) {
    survive_all(EIO, true);
}

TEST_F(FaultTest, a_disk_that_is_full_from_any_call_on_loses_nothing_acknowledged) {
    survive_all(ENOSPC, true);
}

TEST_F(FaultTest, the_error_of_a_full_disk_says_what_to_do) {
    auto journal = open();
    ASSERT_TRUE(journal.has_value());
    journal->reset();
    FaultyDisk disk{0, ENOSPC, false};
    {
        ASSERT_TRUE(open(disk).has_value());
    }
    FaultyDisk full{disk.calls() + 1, ENOSPC, true};
    auto writing = open(full);
    ASSERT_TRUE(writing.has_value()) << writing.error().message;
    ASSERT_TRUE((*writing)->append(make_input(1)).has_value());
    const Result<void> flushed = (*writing)->flush();
    ASSERT_FALSE(flushed.has_value());
    EXPECT_NE(flushed.error().message.find("No space left on device; free some space"),
              std::string::npos)
        << flushed.error().message;
    EXPECT_NE(flushed.error().message.find("journal-"), std::string::npos);
}

TEST_F(FaultTest, a_failed_fdatasync_is_never_tried_again) {
    ASSERT_TRUE(open().has_value());
    FaultyDisk counting{0, EIO, false};
    {
        auto journal = open(counting);
        ASSERT_TRUE(journal.has_value());
    }
    const std::uint64_t to_open = counting.calls();
    FaultyDisk disk{to_open + 2, EIO, false};  // the write goes well, the fdatasync behind it fails
    auto journal = open(disk);
    ASSERT_TRUE((*journal)->append(make_input(1)).has_value());
    ASSERT_TRUE((*journal)->flush().has_value());
    EXPECT_FALSE(sync(**journal).has_value());
    EXPECT_FALSE(sync(**journal).has_value());
    EXPECT_FALSE((*journal)->append(make_input(2)).has_value());
    EXPECT_FALSE((*journal)->close().has_value());
    EXPECT_EQ(disk.calls(), to_open + 2) << "something was tried on a broken journal";
}

}  // namespace
}  // namespace gpuctl::journal
