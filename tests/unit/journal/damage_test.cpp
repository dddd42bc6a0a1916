// Every cut and every flipped byte of small journals: undetected damage may only lose records at
// the end, and never one that a later record proves to have been on disk.

#include "unit/journal/journal_fixture.hpp"

#include "daemon/journal/crc32c.hpp"
#include "daemon/journal/frame.hpp"

namespace gpuctl::journal {
namespace {

TEST(Crc32c, equals_the_published_check_value_and_both_ways_agree) {
    EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
    EXPECT_EQ(crc32c_by_table("123456789"), 0xe3069283u);
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(crc32c(bytes, 7), crc32c_by_table(bytes, 7));
        bytes.push_back(static_cast<char>(i * 37));
    }
    EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

class DamageTest : public JournalTest {
protected:
    // Opens a journal whose only segment holds `bytes`.
    Result<std::uint64_t> inputs_in(const std::string& bytes) {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        write_file(folder + "/journal-00000000000000000001.log", bytes);
        auto journal = open();
        if (!journal) return journal.error();
        const auto count = static_cast<std::uint64_t>(recovered.next_sequence) - 1;
        EXPECT_EQ(recovered.engine.state_hash(), hashes.at(count));
        EXPECT_EQ(recovered.inputs_replayed, count);
        // Records written from here on are read back after it.
        EXPECT_TRUE((*journal)->append(make_input(count + 1)).has_value());
        EXPECT_TRUE((*journal)->flush().has_value());
        journal->reset();
        const auto inputs = read_inputs(folder);
        EXPECT_TRUE(inputs.has_value() && inputs->size() == count + 1);
        return count;
    }
    std::string make_journal(std::uint64_t inputs, bool close) {
        {
            auto journal = open();
            fill(**journal, 1, inputs, 2);
            if (close) {
                EXPECT_TRUE((*journal)->close().has_value());
            }
        }
        for (std::uint64_t i = 0; i <= inputs; ++i) hashes.push_back(hash_after(i));
        return read_file(files().front());
    }
    // Where the head of the segment and each record begin; the last element is its size.
    static std::vector<std::size_t> frames_of(const std::string& bytes) {
        std::vector<std::size_t> starts;
        std::size_t at = 0;
        while (const auto payload = read_frame(std::string_view{bytes}.substr(at))) {
            starts.push_back(at);
            at += frame_bytes(*payload);
        }
        starts.push_back(at);
        starts.erase(starts.begin() + 1);  // the layout is the head's second frame
        return starts;
    }
    std::vector<std::uint64_t> hashes;
};

TEST_F(DamageTest, a_cut_anywhere_leaves_exactly_the_whole_records_before_it) {
    const std::string bytes = make_journal(6, false);
    const std::vector<std::size_t> frames = frames_of(bytes);
    ASSERT_EQ(frames.size(), 8u);
    ASSERT_EQ(frames.back(), bytes.size());
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        const auto count = inputs_in(bytes.substr(0, cut));
        ASSERT_TRUE(count.has_value()) << cut << ": " << count.error().message;
        std::uint64_t whole = 0;
        while (whole + 2 < frames.size() && frames[whole + 2] <= cut) ++whole;
        EXPECT_EQ(*count, whole) << "cut at " << cut;
    }
}

TEST_F(DamageTest, a_flipped_byte_is_refused_or_costs_only_records_that_no_later_record_confirms) {
    const std::string bytes = make_journal(8, false);
    const std::vector<std::size_t> frames = frames_of(bytes);
    // The last batch of two was written when all records before it were on disk.
    const std::size_t vouched_for = frames[frames.size() - 3];
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const char mask : {'\x01', '\x80', '\xff'}) {
            std::string flipped = bytes;
            flipped[at] = static_cast<char>(flipped[at] ^ mask);
            const auto count = inputs_in(flipped);
            if (!count) {
                ++refused;
                EXPECT_EQ(count.error().code, ErrorCode::JournalDamaged);
                EXPECT_NE(count.error().message.find("journal-"), std::string::npos);
                continue;
            }
            EXPECT_GE(at, vouched_for) << "an acknowledged record was dropped in silence";
            EXPECT_GE(*count, 6u);
        }
    }
    EXPECT_GE(refused, vouched_for * 3);
}

TEST_F(DamageTest, after_a_clean_stop_no_flipped_byte_costs_an_input) {
    const std::string bytes = make_journal(6, true);
    const std::vector<std::size_t> frames = frames_of(bytes);
    const std::size_t seal_at = frames[frames.size() - 2];
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
        const auto count = inputs_in(flipped);
        if (at < seal_at) {
            EXPECT_FALSE(count.has_value()) << at;
        } else if (count) {
            EXPECT_EQ(*count, 6u);
        }
    }
}

TEST_F(DamageTest, a_last_segment_of_nothing_but_garbage_is_refused_unless_it_is_a_torn_header) {
    const std::string bytes = make_journal(8, false);
    EXPECT_FALSE(inputs_in(std::string(bytes.size() + 4096, 'x')).has_value());
    EXPECT_FALSE(inputs_in(std::string(4096, '\0')).has_value());
    const std::size_t head_bytes = frames_of(bytes)[1];
    for (const std::size_t cut : {head_bytes - 3, head_bytes / 2, std::size_t{20}}) {
        const auto torn = inputs_in(bytes.substr(0, cut));
        ASSERT_TRUE(torn.has_value()) << cut;
        EXPECT_EQ(*torn, 0u);
    }
    // The header got to the disk, the layout did not, and no record can have been written.
    std::string zeros = bytes.substr(0, head_bytes);
    std::fill(zeros.begin() + 200, zeros.end(), '\0');
    EXPECT_TRUE(inputs_in(zeros).has_value());
    EXPECT_FALSE(inputs_in(zeros + std::string(100, '\0')).has_value());
}

TEST_F(DamageTest, a_start_with_an_empty_or_missing_last_segment_has_a_doubt) {
    const auto begin = [this] {
        std::filesystem::remove_all(folder);
        auto journal = open();
        fill(**journal, 1, 4, 2);
        Engine engine;
        EffectList effects;
        for (std::uint64_t i = 1; i <= 4; ++i) engine.step(make_input(i), effects);
        EXPECT_TRUE((*journal)->write_snapshot(engine, Sequence{5}).has_value());
        fill(**journal, 5, 6, 1);
    };
    const std::string last = folder + "/" + "journal-00000000000000000005.log";
    begin();
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.inputs_replayed, 2u);
    EXPECT_EQ(recovered.doubt, "");
    begin();
    write_file(last, "");
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.doubt, "journal file journal-00000000000000000005.log is empty");
    begin();
    std::filesystem::remove(last);
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.doubt, "no journal file follows the snapshot of input 5");
}

TEST_F(DamageTest, records_that_are_swapped_repeated_or_left_out_are_refused) {
    const std::string bytes = make_journal(8, false);
    const std::vector<std::size_t> at = frames_of(bytes);
    const auto record = [&](std::size_t i) { return bytes.substr(at[i], at[i + 1] - at[i]); };
    const auto with_middle = [&](const std::string& middle) {
        return bytes.substr(0, at[3]) + middle + bytes.substr(at[5]);
    };
    ASSERT_EQ(*inputs_in(with_middle(record(3) + record(4))), 8u);
    for (const std::string& middle :
         {record(4) + record(3), record(3) + record(3), record(3) + record(3) + record(4),
          record(4), std::string{}}) {
        const auto count = inputs_in(with_middle(middle));
        EXPECT_TRUE(!count || *count >= 8u) << "kept " << *count;
    }
}

TEST_F(DamageTest, an_unsynced_tail_written_out_of_order_is_cut_not_refused) {
    std::string bytes;
    {
        auto journal = open();
        fill(**journal, 1, 4, 2);
        for (std::uint64_t i = 5; i <= 8; ++i) {
            ASSERT_TRUE((*journal)->append(make_input(i)).has_value());
        }
        ASSERT_TRUE((*journal)->flush().has_value());  // and the power fails before a sync
    }
    for (std::uint64_t i = 0; i <= 8; ++i) hashes.push_back(hash_after(i));
    bytes = read_file(files().front());
    const std::vector<std::size_t> at = frames_of(bytes);
    for (std::size_t i = at[5]; i < at[6]; ++i) bytes[i] = 0;  // a page that never reached the disk
    const auto count = inputs_in(bytes);
    ASSERT_TRUE(count.has_value()) << count.error().message;
    EXPECT_EQ(*count, 4u);
    EXPECT_EQ(recovered.bytes_cut, bytes.size() - at[5]);
}

TEST_F(DamageTest, damage_in_any_but_the_last_segment_is_refused_at_each_byte) {
    segment_bytes_max = 300;
    {
        fill(**open(), 1, 12, 2);
    }
    const std::vector<std::string> names = files();
    ASSERT_GE(names.size(), 3u);
    const std::string bytes = read_file(names[1]);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string flipped = bytes;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x04);
        write_file(names[1], flipped);
        EXPECT_FALSE(open().has_value()) << "byte " << i;
        write_file(names[1], bytes.substr(0, i));
        EXPECT_FALSE(open().has_value()) << "cut at " << i;
    }
    write_file(names[1], bytes);
    EXPECT_TRUE(open().has_value());
    std::filesystem::remove(names[1]);
    const auto gap = open();
    ASSERT_FALSE(gap.has_value());
    EXPECT_NE(gap.error().message.find("are missing"), std::string::npos);
}

TEST_F(DamageTest, a_damaged_snapshot_is_refused_at_each_byte) {
    {
        auto journal = open();
        fill(**journal, 1, 4, 2);
        Engine engine;
        EffectList effects;
        for (std::uint64_t i = 1; i <= 4; ++i) engine.step(make_input(i), effects);
        ASSERT_TRUE((*journal)->write_snapshot(engine, Sequence{5}).has_value());
    }
    const std::string path = folder + "/snapshot-00000000000000000005.bin";
    const std::string bytes = read_file(path);
    ASSERT_FALSE(bytes.empty());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string flipped = bytes;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x20);
        write_file(path, flipped);
        EXPECT_FALSE(open().has_value()) << "byte " << i;
    }
    write_file(path, bytes);
    EXPECT_TRUE(open().has_value());
}

}  // namespace
}  // namespace gpuctl::journal
