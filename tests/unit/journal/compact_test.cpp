// New segments begun on the pool, and snapshots made from the files while a writer continues.

#include <optional>
#include <thread>

#include "unit/journal/journal_fixture.hpp"

namespace gpuctl::journal {
namespace {

const std::atomic<bool> kGoesOn{false};

TEST_F(JournalTest, inputs_after_a_roll_are_in_a_new_segment_and_all_are_read) {
    auto journal = open();
    fill(**journal, 1, 10, 5);
    EXPECT_EQ(files().size(), 1u);
    ASSERT_TRUE(roll(**journal).has_value());
    EXPECT_EQ(files().size(), 2u);
    ASSERT_TRUE(roll(**journal).has_value()) << "nothing was written since: nothing to do";
    EXPECT_EQ(files().size(), 2u);
    fill(**journal, 11, 20, 5);
    journal->reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(20));
}

TEST_F(JournalTest, waiters_for_the_disk_are_answered_by_a_roll_too) {
    auto journal = open();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        ASSERT_TRUE((*journal)->append(make_input(i)).has_value());
    }
    ASSERT_TRUE((*journal)->flush().has_value());
    int answered = 0;
    (*journal)->roll([&](Result<void> done) { answered += done.has_value() ? 1 : 0; });
    (*journal)->sync([&](Result<void> done) { answered += done.has_value() ? 10 : 0; });
    ASSERT_TRUE(turn_until([&] { return answered == 11; }));
}

TEST_F(JournalTest, closing_in_the_middle_of_a_roll_leaves_a_journal_that_starts) {
    {
        auto journal = open();
        fill(**journal, 1, 10, 5);
        (*journal)->roll([](Result<void>) { FAIL() << "the writer is gone"; });
        EXPECT_FALSE((*journal)->close().has_value()) << "its end is not sealed";
    }
    // The roll holds the lock until it has ended.
    ASSERT_TRUE(turn_until([&] { return open().has_value(); }));
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(10));
}

TEST_F(JournalTest, an_engine_built_from_the_files_took_the_requested_inputs_and_none_after_them) {
    segment_bytes_max = 1'000;
    auto journal = open();
    fill(**journal, 1, 60, 7);
    for (const std::uint64_t next : {1u, 2u, 30u, 60u, 61u}) {
        const auto engine = rebuild_engine((*journal)->place(), Sequence{next}, kGoesOn);
        ASSERT_TRUE(engine.has_value()) << engine.error().message;
        EXPECT_EQ(engine->state_hash(), hash_after(next - 1));
    }
    const auto early = rebuild_engine((*journal)->place(), Sequence{62}, kGoesOn);
    ASSERT_FALSE(early.has_value());
    EXPECT_EQ(early.error().code, ErrorCode::JournalDamaged);
    EXPECT_NE(early.error().message.find("the state before input 61"), std::string::npos)
        << early.error().message;
}

TEST_F(JournalTest, building_an_engine_from_the_files_ends_at_once_when_it_is_not_needed_any_more) {
    auto journal = open();
    fill(**journal, 1, 10, 5);
    const std::atomic<bool> stop{true};
    const auto engine = rebuild_engine((*journal)->place(), Sequence{11}, stop);
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().code, ErrorCode::ShuttingDown);
}

TEST_F(JournalTest, a_snapshot_from_the_files_replaces_only_the_files_before_it) {
    segment_bytes_max = 1'000;
    auto journal = open();
    fill(**journal, 1, 50, 5);
    ASSERT_TRUE(roll(**journal).has_value());
    std::optional<JournalPlace> place = (*journal)->place();
    fill(**journal, 51, 90, 5);  // in the meantime
    const auto engine = rebuild_engine(*place, Sequence{51}, kGoesOn);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    ASSERT_TRUE(compact(*place, *engine, Sequence{51}).has_value());
    EXPECT_TRUE(files().front().ends_with("journal-00000000000000000051.log")) << files().front();
    // And once more, from that snapshot.
    ASSERT_TRUE(roll(**journal).has_value());
    const auto later = rebuild_engine(*place, Sequence{91}, kGoesOn);
    ASSERT_TRUE(later.has_value()) << later.error().message;
    ASSERT_TRUE(compact(*place, *later, Sequence{91}).has_value());
    EXPECT_EQ(files().size(), 2u) << "the snapshot and an empty segment";
    fill(**journal, 91, 95, 1);
    journal->reset();
    const auto too_early = open();
    ASSERT_FALSE(too_early.has_value()) << "a holder of the place may still write there";
    EXPECT_NE(too_early.error().message.find("is in use"), std::string::npos);
    place.reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.inputs_replayed, 5u);
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(95));
}

TEST_F(JournalTest, snapshots_are_made_on_one_thread_while_another_appends_and_rolls) {
    segment_bytes_max = 2'000;
    auto journal = open();
    std::uint64_t next = 1;
    for (int round = 0; round < 5; ++round) {
        fill(**journal, next, next + 39, 8);
        next += 40;
        ASSERT_TRUE(roll(**journal).has_value());
        Result<void> outcome;
        std::thread worker{[&outcome, place = (*journal)->place(), until = Sequence{next}] {
            const Result<Engine> engine = rebuild_engine(place, until, kGoesOn);
            outcome = engine ? compact(place, *engine, until) : Result<void>{engine.error()};
        }};
        fill(**journal, next, next + 59, 4);
        next += 60;
        worker.join();
        EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    }
    journal->reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(next - 1));
    EXPECT_LT(recovered.inputs_replayed, next / 2);
}

TEST_F(JournalTest, damage_in_the_files_is_reported_and_no_snapshot_is_made_from_them) {
    segment_bytes_max = 1'000;
    auto journal = open();
    fill(**journal, 1, 50, 5);
    std::string bytes = read_file(files().front());
    bytes.at(bytes.size() / 2) ^= 1;
    write_file(files().front(), bytes);
    const auto engine = rebuild_engine((*journal)->place(), Sequence{51}, kGoesOn);
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().code, ErrorCode::JournalDamaged) << engine.error().message;
}

}  // namespace
}  // namespace gpuctl::journal
