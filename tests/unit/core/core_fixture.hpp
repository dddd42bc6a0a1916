#pragma once
// A journal in a folder of its own, random inputs, and a coroutine task as the body of a test.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"
#include "metrics/recorder.hpp"
#include "sim/swarm/random_world.hpp"

namespace gpuctl::core {

inline aio::Task<void> then_stop(aio::Loop& loop, aio::Task<void> body) {
    co_await std::move(body);
    loop.stop();
}

inline void run_to_end(aio::Loop& loop, aio::Task<void> body) {
    aio::TaskGroup group{loop};
    group.spawn("test body", then_stop(loop, std::move(body)));
    loop.run();
}

inline aio::Deadline soon() { return aio::Deadline::in(std::chrono::seconds{60}); }

// The inputs of an engine in the random simulation of that seed: faults, restarts, policies and
// all.
inline std::vector<Input> random_inputs(std::uint64_t seed, int steps = 12) {
    constexpr std::size_t kLeast = 600;  // some simulations are quiet
    std::vector<Input> inputs;
    sim::RandomWorld world{seed, nullptr, [&](const Engine&, const Input& input, const auto&) {
                               inputs.push_back(input);
                           }};
    world.run(steps);
    while (inputs.size() < kLeast && world.violations().empty()) world.run(1);
    // The first inputs were applied while the world was created, before it recorded them.
    const auto first = static_cast<std::uint64_t>(inputs.front().sequence);
    for (Input& input : inputs) {
        input.sequence = Sequence{static_cast<std::uint64_t>(input.sequence) - first + 1};
    }
    return inputs;
}

// Internal: there is no error.
template <typename T>
ErrorCode code_of(const Result<T>& result) {
    return result ? ErrorCode::Internal : result.error().code;
}

struct Folder {
    Folder() {
        const bool has_memory = ::access("/dev/shm", W_OK) == 0;
        std::string pattern =
            (has_memory ? "/dev/shm/" : testing::TempDir()) + "gpuctl-core-XXXXXX";
        path = ::mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] journal::JournalSettings settings() const {
        journal::JournalSettings wanted;
        wanted.directory = path + "/journal";
        wanted.mode = "embedded";
        wanted.past_bytes_max = 1u << 30;
        return wanted;
    }
    [[nodiscard]] std::vector<std::string> files(const std::string& prefix) const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path + "/journal")) {
            const std::string name = entry.path().filename();
            if (name.starts_with(prefix)) found.push_back(entry.path());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    std::string path;
};

// Flips a bit in the middle of the file.
inline void damage(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    in.close();
    bytes.at(bytes.size() / 2) ^= 0x10;
    std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

}  // namespace gpuctl::core
