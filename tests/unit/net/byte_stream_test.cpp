// A connection that always has more bytes, or always accepts more, and the turns of the loop.

#include "net/transport/byte_stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "unit/aio/run_on_loop.hpp"

namespace gpuctl::net {
namespace {

constexpr std::size_t kBytes = 24u << 20;

struct Pair {
    Pair() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        ::fcntl(ends[0], F_SETFL, ::fcntl(ends[0], F_GETFL) | O_NONBLOCK);
    }
    std::array<int, 2> ends{};  // [0] is closed by the stream
};

void work_for(std::chrono::microseconds span) {
    const aio::Deadline end = aio::Deadline::in(span);
    while (!end.passed()) {
    }
}

// Counts the turns of other tasks while the body runs.
struct Others {
    explicit Others(aio::Loop& l) : loop(l) { again(); }
    void again() {
        loop.post([this] {
            ++turns;
            if (!ended) again();
        });
    }
    aio::Loop& loop;
    int turns = 0;
    bool ended = false;
};

aio::Task<void> read_all(aio::Loop& loop, int descriptor, int& turns) {
    ByteStream stream{loop.executor(), descriptor};
    Others others{loop};
    std::string room(64u << 10, ' ');
    for (std::size_t read = 0; read < kBytes;) {
        const IoOutcome outcome = stream.try_read(room.data(), room.size());
        read += outcome.bytes;
        if (outcome.state == IoOutcome::State::moved) {
            work_for(std::chrono::microseconds{300});  // so that the peer is always ahead
            continue;
        }
        EXPECT_EQ(outcome.state, IoOutcome::State::again);
        if (outcome.state != IoOutcome::State::again) break;
        const Wake wake =
            co_await stream.wait(Side::read, aio::Deadline::in(std::chrono::seconds{30}));
        EXPECT_EQ(wake, Wake::ready);
    }
    others.ended = true;
    turns = others.turns;
    co_await aio::next_turn();  // the last turn of the other tasks
}

TEST(ByteStream, a_stream_that_always_has_data_does_not_starve_other_tasks) {
    const Pair pair;
    std::thread peer{[descriptor = pair.ends[1]] {
        const std::string bytes(1u << 20, 'x');
        for (std::size_t sent = 0; sent < kBytes;) {
            const ssize_t taken = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (taken <= 0) break;
            sent += static_cast<std::size_t>(taken);
        }
    }};
    aio::Loop loop;
    int turns = 0;
    aio::run_to_end(loop, read_all(loop, pair.ends[0], turns));
    peer.join();
    ::close(pair.ends[1]);
    EXPECT_GT(turns, 10) << "it was read to the end in a single turn";
}

aio::Task<void> write_it_all(aio::Loop& loop, int descriptor, int& turns) {
    ByteStream stream{loop.executor(), descriptor};
    Others others{loop};
    const std::string bytes(kBytes, 'x');
    std::size_t sent = 0;
    const Result<void> written =
        co_await stream.write_all(bytes, sent, aio::Deadline::in(std::chrono::seconds{30}));
    EXPECT_TRUE(written.has_value());
    EXPECT_EQ(sent, bytes.size());
    others.ended = true;
    turns = others.turns;
    co_await aio::next_turn();
}

TEST(ByteStream, a_long_response_is_written_completely_although_its_turn_exceeds_the_limit) {
    const Pair pair;
    std::atomic<std::size_t> received{0};
    std::thread peer{[&received, descriptor = pair.ends[1]] {
        std::string room(1u << 20, ' ');
        for (;;) {
            const ssize_t got = ::recv(descriptor, room.data(), room.size(), 0);
            if (got <= 0) break;
            received += static_cast<std::size_t>(got);
        }
    }};
    aio::Loop loop;
    int turns = 0;
    aio::run_to_end(loop, write_it_all(loop, pair.ends[0], turns));
    peer.join();
    ::close(pair.ends[1]);
    EXPECT_EQ(received, kBytes);
    EXPECT_GT(turns, 1);
}

}  // namespace
}  // namespace gpuctl::net
