#include "unit/journal/journal_fixture.hpp"

#include <unistd.h>

#include <fcntl.h>

#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {
namespace {

TEST_F(JournalTest, begins_empty_private_and_with_an_identity_it_keeps) {
    auto journal = open();
    ASSERT_TRUE(journal.has_value()) << journal.error().message;
    EXPECT_EQ(recovered.next_sequence, Sequence{1});
    EXPECT_EQ(recovered.cluster_id.size(), 36u);
    struct stat status{};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    for (const std::string& file : files()) {
        ASSERT_EQ(::stat(file.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600u) << file;
    }
    const std::string id = recovered.cluster_id;
    journal->reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.cluster_id, id);
}

TEST_F(JournalTest, gives_back_every_input_in_order_and_the_same_state) {
    {
        auto journal = open();
        fill(**journal, 1, 50, 7);
        EXPECT_EQ((*journal)->figures().records, 50u);
    }
    auto again = open();
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(recovered.inputs_replayed, 50u);
    EXPECT_EQ(recovered.next_sequence, Sequence{51});
    EXPECT_EQ(recovered.bytes_cut, 0u);
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(50));
    EXPECT_NE(recovered.engine.state_hash(), hash_after(49));
    fill(**again, 51, 60, 3);
    again->reset();
    const auto inputs = read_inputs(folder);
    ASSERT_TRUE(inputs.has_value());
    ASSERT_EQ(inputs->size(), 60u);
    for (std::uint64_t i = 1; i <= 60; ++i) {
        EXPECT_EQ((*inputs)[i - 1].sequence, Sequence{i});
        EXPECT_EQ((*inputs)[i - 1].seed, i * 77);
    }
}

TEST_F(JournalTest, an_input_that_was_only_appended_is_neither_acknowledged_nor_stored) {
    {
        auto journal = open();
        fill(**journal, 1, 3, 1);
        ASSERT_TRUE((*journal)->append(make_input(4)).has_value());
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.next_sequence, Sequence{4});
}

TEST_F(JournalTest, one_fdatasync_serves_all_waiters) {
    auto journal = open();
    int answered = 0;
    for (std::uint64_t i = 1; i <= 100; ++i) {
        ASSERT_TRUE((*journal)->append(make_input(i)).has_value());
        ASSERT_TRUE((*journal)->flush().has_value());
        (*journal)->sync([&](Result<void> done) { answered += done.has_value() ? 1 : 0; });
    }
    ASSERT_TRUE(turn_until([&] { return answered == 100; }));
    EXPECT_LE((*journal)->figures().syncs, 3u);
}

TEST_F(JournalTest, segments_are_rolled_and_read_as_one) {
    segment_bytes_max = 1'000;
    {
        auto journal = open();
        fill(**journal, 1, 100, 5);
    }
    EXPECT_GT(files().size(), 5u);
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.inputs_replayed, 100u);
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(100));
}

TEST_F(JournalTest, a_clean_stop_seals_and_the_next_start_continues_in_a_new_segment) {
    {
        auto journal = open();
        fill(**journal, 1, 10, 5);
        ASSERT_TRUE((*journal)->close().has_value());
        EXPECT_FALSE((*journal)->append(make_input(11)).has_value());
    }
    {
        auto journal = open();
        EXPECT_EQ(files().size(), 2u);
        fill(**journal, 11, 20, 5);
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(20));
}

TEST_F(JournalTest, a_stop_right_after_a_snapshot_or_without_any_input_starts_again) {
    for (int life = 0; life < 3; ++life) {  // nothing was ever written
        auto journal = open();
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
        EXPECT_EQ(recovered.next_sequence, Sequence{1});
        ASSERT_TRUE((*journal)->close().has_value());
    }
    {
        auto journal = open();
        fill(**journal, 1, 4, 2);
        Engine engine;
        EffectList effects;
        for (std::uint64_t i = 1; i <= 4; ++i) engine.step(make_input(i), effects);
        ASSERT_TRUE((*journal)->write_snapshot(engine, Sequence{5}).has_value());
        ASSERT_TRUE((*journal)->close().has_value());
    }
    for (int life = 0; life < 3; ++life) {
        auto journal = open();
        ASSERT_TRUE(journal.has_value()) << journal.error().message;
        EXPECT_EQ(recovered.engine.state_hash(), hash_after(4));
        ASSERT_TRUE((*journal)->close().has_value());
    }
    auto journal = open();
    fill(**journal, 5, 6, 1);
    journal->reset();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(6));
}

TEST_F(JournalTest, a_snapshot_replaces_the_segments_before_it) {
    segment_bytes_max = 1'000;
    {
        auto journal = open();
        fill(**journal, 1, 100, 10);
        Engine engine;
        EffectList effects;
        for (std::uint64_t i = 1; i <= 100; ++i) engine.step(make_input(i), effects);
        ASSERT_TRUE((*journal)->write_snapshot(engine, Sequence{101}).has_value());
        EXPECT_EQ(files().size(), 2u);  // the snapshot and an empty segment
        fill(**journal, 101, 103, 1);
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.inputs_replayed, 3u);
    EXPECT_EQ(recovered.next_sequence, Sequence{104});
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(103));
}

TEST_F(JournalTest, a_second_daemon_is_refused_with_the_process_id_of_the_first) {
    auto first = open();
    ASSERT_TRUE(first.has_value());
    Recovered other;
    const auto second = Journal::open(loop, real_disk(), settings(), other);
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())),
              std::string::npos)
        << second.error().message;
}

TEST_F(JournalTest, another_mode_or_cluster_is_refused) {
    {
        fill(**open(), 1, 2, 1);
    }
    JournalSettings other = settings();
    other.mode = "kubernetes";
    auto refused = Journal::open(loop, real_disk(), other, recovered);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("belongs to cluster mode embedded, not kubernetes"),
              std::string::npos);
    other = settings();
    other.cluster_id = "some-other-cluster";
    refused = Journal::open(loop, real_disk(), other, recovered);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("not some-other-cluster"), std::string::npos);
}

TEST_F(JournalTest, a_newer_format_is_refused_before_anything_else_is_read) {
    {
        fill(**open(), 1, 2, 1);
    }
    std::string payload{kJournalMagic};
    payload += '\x04';
    payload += "whatever the future holds";
    std::string bytes;
    append_frame(bytes, payload);
    write_file(files().front(), bytes);
    const auto refused = open();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::JournalFailed);
    EXPECT_NE(refused.error().message.find("written by a newer gpuctld in format 4"),
              std::string::npos);
}

TEST_F(JournalTest, a_journal_of_another_build_is_refused_as_such_and_not_as_damage) {
    {
        fill(**open(), 1, 2, 1);
    }
    for (const std::string& head : {std::string{"\x01"}, std::string{"\x02\x05"}}) {
        std::string payload{kJournalMagic};
        payload += head;
        payload += "records of another form";
        std::string bytes;
        append_frame(bytes, payload);
        write_file(files().front(), bytes);
        const auto refused = open();
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::JournalFailed);
        EXPECT_NE(refused.error().message.find("written by an early build"), std::string::npos)
            << refused.error().message;
        EXPECT_NE(refused.error().message.find("not damaged"), std::string::npos);
    }
}

TEST_F(JournalTest, a_folder_that_cannot_be_created_is_an_error_with_a_sentence) {
    write_file(root + "/file", "in the way");
    folder = root + "/file/cluster";
    const auto refused = open();
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("create folder"), std::string::npos);
}

TEST_F(JournalTest, replay_reads_a_running_journal_and_reports_its_content) {
    auto journal = open();
    fill(**journal, 1, 20, 5);
    std::uint64_t seen = 0;
    const auto report = replay(folder, [&](const Engine&, const Input&, const auto&) { ++seen; });
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(seen, 20u);
    EXPECT_EQ(report->inputs, 20u);
    EXPECT_EQ(report->last_sequence, Sequence{20});
    EXPECT_EQ(report->state_hash, hash_after(20));
    EXPECT_EQ(report->mode, "embedded");
    EXPECT_EQ(report->cluster_id, recovered.cluster_id);
    EXPECT_FALSE(replay(root).has_value());
}

}  // namespace
}  // namespace gpuctl::journal
