#pragma once
// A temporary folder, a loop that the test runs, and inputs that change the engine's state.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "aio/loop.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"

namespace gpuctl::journal {

inline Input make_input(std::uint64_t sequence) {
    NodeObserved observed;
    observed.node.name = "node-" + std::to_string(sequence % 7);
    observed.node.pool = "default";
    observed.node.allocatable.cpu = CpuMilli{static_cast<std::int64_t>(1'000 + sequence)};
    observed.node.allocatable.pods = 110;
    observed.node.labels["turn"] = std::to_string(sequence);
    return {Sequence{sequence}, Instant{static_cast<std::int64_t>(1'000 * sequence)}, sequence * 77,
            std::move(observed)};
}

// The hash of an engine that took inputs 1..count.
inline std::uint64_t hash_after(std::uint64_t count) {
    Engine engine;
    EffectList effects;
    for (std::uint64_t i = 1; i <= count; ++i) engine.step(make_input(i), effects);
    return engine.state_hash();
}

inline std::string read_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

class JournalTest : public testing::Test {
protected:
    JournalTest() {
        // Thousands of starts, each with its fsyncs: in memory if possible.
        const bool has_memory = ::access("/dev/shm", W_OK) == 0;
        std::string pattern =
            (has_memory ? "/dev/shm/" : testing::TempDir()) + "gpuctl-journal-XXXXXX";
        root = ::mkdtemp(pattern.data());
        folder = root + "/state/cluster";
    }
    ~JournalTest() override { std::filesystem::remove_all(root); }

    JournalSettings settings() const {
        JournalSettings wanted;
        wanted.directory = folder;
        wanted.mode = "embedded";
        wanted.segment_bytes_max = segment_bytes_max;
        return wanted;
    }
    Result<std::unique_ptr<Journal>> open(Disk& disk = real_disk()) {
        return Journal::open(loop, disk, settings(), recovered);
    }
    // Runs the loop until `condition`; fails the test after a minute.
    template <typename Condition>
    bool turn_until(Condition condition) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (!condition() && std::chrono::steady_clock::now() < give_up) {
            loop.context().run_one_for(std::chrono::milliseconds{50});
        }
        return condition();
    }
    Result<void> sync(Journal& journal) {
        std::optional<Result<void>> answer;
        journal.sync([&answer](Result<void> done) { answer = std::move(done); });
        EXPECT_TRUE(turn_until([&] { return answer.has_value(); })) << "sync never answered";
        return answer ? *answer : Result<void>{make_error(ErrorCode::Timeout, "no answer")};
    }
    Result<void> roll(Journal& journal) {
        std::optional<Result<void>> answer;
        journal.roll([&answer](Result<void> done) { answer = std::move(done); });
        EXPECT_TRUE(turn_until([&] { return answer.has_value(); })) << "roll never answered";
        return answer ? *answer : Result<void>{make_error(ErrorCode::Timeout, "no answer")};
    }
    // As the engine loop does.
    Result<void> flush_and_roll(Journal& journal) {
        const Result<void> flushed = journal.flush();
        return flushed && journal.is_segment_full() ? roll(journal) : flushed;
    }
    // Appends inputs up to `last` and syncs after each `batch`.
    void fill(Journal& journal, std::uint64_t first, std::uint64_t last, std::uint64_t batch) {
        for (std::uint64_t i = first; i <= last; ++i) {
            ASSERT_TRUE(journal.append(make_input(i)).has_value());
            if (i % batch == 0 || i == last) {
                ASSERT_TRUE(flush_and_roll(journal).has_value());
                ASSERT_TRUE(sync(journal).has_value());
            }
        }
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        if (!std::filesystem::exists(folder)) return names;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            if (entry.path().filename() != "lock") names.push_back(entry.path().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    std::string root;
    std::string folder;
    std::size_t segment_bytes_max = 64u << 20;
    aio::Loop loop;
    Recovered recovered;
};

}  // namespace gpuctl::journal
