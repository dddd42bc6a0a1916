// The files in the past, and the engine that is built from them.

#include "daemon/journal/past.hpp"

#include "unit/journal/journal_fixture.hpp"

namespace gpuctl::journal {
namespace {

class PastTest : public JournalTest {
protected:
    std::uint64_t past_bytes_max = 1u << 30;

    // Two runs of 50 inputs, a snapshot after each 20.
    void run_twice() {
        segment_bytes_max = 1'000;
        JournalSettings wanted = settings();
        wanted.past_bytes_max = past_bytes_max;
        Engine engine;
        EffectList effects;
        std::uint64_t next = 1;
        for (int life = 0; life < 2; ++life) {
            Recovered found;
            auto journal = Journal::open(loop, real_disk(), wanted, found);
            ASSERT_TRUE(journal.has_value());
            for (const std::uint64_t end = next + 50; next < end; ++next) {
                ASSERT_TRUE((*journal)->append(make_input(next)).has_value());
                engine.step(make_input(next), effects);
                ASSERT_TRUE(flush_and_roll(**journal).has_value());
                if (next % 20 != 0) continue;
                ASSERT_TRUE((*journal)->write_snapshot(engine, Sequence{next + 1}).has_value());
            }
            ASSERT_TRUE((*journal)->close().has_value());
        }
    }

    struct Found {
        std::uint64_t hash_at_begin = 0;
        std::vector<std::uint64_t> inputs;
    };
    Result<Found> read_since(std::int64_t seconds) {
        Found found;
        PastReader reader;
        reader.begin = [&](const Engine& engine) { found.hash_at_begin = engine.state_hash(); };
        reader.next = [&](const Input& input) {
            found.inputs.push_back(static_cast<std::uint64_t>(input.sequence));
        };
        const Result<void> read = read_past(folder, Instant{1'000 * seconds}, reader);
        if (!read) return read.error();
        return found;
    }
};

std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> out;
    for (; from <= to; ++from) out.push_back(from);
    return out;
}

TEST_F(PastTest, returns_the_engine_of_the_last_snapshot_up_to_a_time_and_every_input_since) {
    run_twice();
    for (const auto& [since, snapshot] : std::vector<std::pair<std::int64_t, std::uint64_t>>{
             {95, 80}, {80, 80}, {79, 60}, {41, 40}, {20, 20}}) {
        const auto found = read_since(since);
        ASSERT_TRUE(found.has_value()) << found.error().message;
        EXPECT_EQ(found->hash_at_begin, hash_after(snapshot)) << since;
        EXPECT_EQ(found->inputs, numbers(snapshot + 1, 100)) << since;
    }
    const auto oldest = read_since(3);
    ASSERT_TRUE(oldest.has_value());
    EXPECT_EQ(oldest->inputs, numbers(1, 100)) << "from the very beginning";
}

TEST_F(PastTest, is_read_to_its_end_while_a_snapshot_moves_files) {
    run_twice();
    std::vector<std::uint64_t> inputs;
    PastReader reader;
    reader.begin = [&](const Engine&) {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".log")) names.push_back(name);
        }
        ASSERT_FALSE(names.empty());
        move_to_past(real_disk(), folder, names, past_bytes_max);
    };
    reader.next = [&](const Input& input) {
        inputs.push_back(static_cast<std::uint64_t>(input.sequence));
    };
    const Result<void> read = read_past(folder, Instant{95'000}, reader);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(inputs, numbers(81, 100));
}

TEST_F(PastTest, is_read_no_further_than_requested) {
    segment_bytes_max = 1u << 20;
    auto journal = open();
    ASSERT_TRUE(journal.has_value());
    for (std::uint64_t next = 1; next <= 1'000; ++next) {
        ASSERT_TRUE((*journal)->append(make_input(next)).has_value());
    }
    ASSERT_TRUE((*journal)->flush().has_value());
    std::size_t inputs = 0;
    PastReader reader;
    reader.begin = [](const Engine&) {};
    reader.next = [&](const Input&) { ++inputs; };
    reader.go_on = [&] { return inputs < 300; };
    const Result<void> read = read_past(folder, Instant{0}, reader);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, ErrorCode::ShuttingDown);
    EXPECT_LT(inputs, 1'000u);
}

TEST_F(PastTest, is_not_read_by_a_start) {
    run_twice();
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/past")) {
        write_file(entry.path(), "garbage");
    }
    ASSERT_TRUE(open().has_value());
    EXPECT_EQ(recovered.engine.state_hash(), hash_after(100));
    const auto found = read_since(50);
    ASSERT_TRUE(found.has_value()) << "the rest is still returned";
    EXPECT_EQ(found->inputs, numbers(101 - found->inputs.size(), 100));
}

TEST_F(PastTest, the_oldest_files_are_removed_above_the_limit_and_all_with_a_limit_of_zero) {
    past_bytes_max = 40'000;
    run_twice();
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/past")) {
        bytes += entry.file_size();
    }
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, 40'000u);
    const auto found = read_since(1);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found->inputs, numbers(101 - found->inputs.size(), 100));
    EXPECT_EQ(found->hash_at_begin, hash_after(100 - found->inputs.size()));
}

TEST_F(PastTest, without_a_limit_no_file_is_kept) {
    past_bytes_max = 0;
    run_twice();
    EXPECT_FALSE(std::filesystem::exists(folder + "/past"));
}

}  // namespace
}  // namespace gpuctl::journal
