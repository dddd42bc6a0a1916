// The relay between a client and a pod, over ends in memory.

#include "daemon/api/sessions/session_relay.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "aio/signal.hpp"
#include "unit/aio/run_on_loop.hpp"
#include "wire/session_frames.hpp"

namespace gpuctl::api {
namespace {

using wire::SessionChannel;

aio::Deadline relay_soon() { return aio::Deadline::in(std::chrono::seconds{10}); }

// One direction of an end: messages that wait, of which `room` may.
struct Pipe {
    explicit Pipe(aio::Loop& loop) : changed(loop) {}
    std::deque<std::string> waiting;
    std::size_t room = 1'000'000;
    bool ended = false;
    std::size_t waiting_most = 0;
    aio::Signal changed;

    aio::Task<Result<void>> put(std::string message, aio::Deadline deadline) {
        while (waiting.size() >= room && !ended) {
            const bool notified = co_await changed.wait(deadline);
            if (!notified && waiting.size() >= room && !ended) {
                co_return make_error(ErrorCode::Timeout, "not taken in time");
            }
        }
        if (ended) co_return make_error(ErrorCode::Unreachable, "closed");
        waiting.push_back(std::move(message));
        waiting_most = std::max(waiting_most, waiting.size());
        changed.notify_all();
        co_return Result<void>{};
    }
    aio::Task<Result<std::optional<std::string>>> receive(aio::Deadline deadline) {
        while (waiting.empty()) {
            if (ended) co_return std::optional<std::string>{};
            const bool notified = co_await changed.wait(deadline);
            if (!notified && waiting.empty() && !ended) {
                co_return make_error(ErrorCode::Timeout, "nothing came");
            }
        }
        std::optional<std::string> message = std::move(waiting.front());
        waiting.pop_front();
        changed.notify_all();
        co_return std::move(message);
    }
    void end() {
        ended = true;
        changed.notify_all();
    }
};

struct Ends {
    explicit Ends(aio::Loop& on)
        : loop(on), from_client(on), to_client(on), from_pod(on), to_pod(on) {}
    aio::Loop& loop;
    Pipe from_client;
    Pipe to_client;
    Pipe from_pod;
    Pipe to_pod;
    bool client_closed = false;
    bool pod_closed = false;
    bool relay_ended = false;
    SessionTraffic traffic;
    std::optional<SessionFailure> failure;
};

class ClientEnd final : public net::WebSocket {
public:
    explicit ClientEnd(Ends& ends) : ends_(ends) {}
    aio::Task<Result<void>> write_text(std::string, aio::Deadline) override {
        co_return make_error(ErrorCode::ProtocolError, "not text");
    }
    aio::Task<Result<std::optional<std::string>>> read_text(aio::Deadline) override {
        co_return make_error(ErrorCode::ProtocolError, "not text");
    }
    aio::Task<Result<void>> write_bytes(std::string message, aio::Deadline deadline) override {
        return ends_.to_client.put(std::move(message), deadline);
    }
    aio::Task<Result<std::optional<std::string>>> read_bytes(aio::Deadline deadline) override {
        return ends_.from_client.receive(deadline);
    }
    [[nodiscard]] std::string protocol() const override { return ""; }
    aio::Task<void> close(net::CloseCode, std::string, aio::Deadline) override {
        ends_.client_closed = true;
        ends_.from_client.end();
        if (ends_.to_client.room == 0) ends_.to_client.end();  // ends the write that waits
        co_return;
    }

private:
    Ends& ends_;
};

class PodEnd final : public ports::SessionStream {
public:
    explicit PodEnd(Ends& ends) : ends_(ends) {}
    aio::Task<Result<void>> write(ports::SessionInput input, aio::Deadline deadline) override {
        using Kind = ports::SessionInput::Kind;
        std::string shown = input.kind == Kind::bytes ? input.bytes
                            : input.kind == Kind::end ? "<end>"
                                                      : "<" + std::to_string(input.columns) + "x" +
                                                            std::to_string(input.rows) + ">";
        return ends_.to_pod.put(std::move(shown), deadline);
    }
    aio::Task<Result<ports::SessionOutput>> read(aio::Deadline deadline) override {
        Result<std::optional<std::string>> message = co_await ends_.from_pod.receive(deadline);
        if (!message) co_return message.error();
        ports::SessionOutput output;
        if (!message->has_value()) {
            output.kind = ports::SessionOutput::Kind::ended;
            output.exit_code = 3;
        } else {
            output.bytes = std::move(**message);
        }
        co_return output;
    }
    aio::Task<void> close(aio::Deadline) override {
        ends_.pod_closed = true;
        ends_.to_pod.end();
        co_return;
    }

private:
    Ends& ends_;
};

SessionLimits quick_limits() {
    SessionLimits limits;
    limits.look_up = std::chrono::milliseconds{5};
    limits.stalled = std::chrono::milliseconds{10'000};
    return limits;
}

aio::Task<void> relay_all(aio::TaskGroup& tasks, Ends& ends, SessionLimits limits,
                          MustEnd must_end) {
    std::shared_ptr<net::WebSocket> client = std::make_shared<ClientEnd>(ends);
    std::shared_ptr<ports::SessionStream> pod = std::make_shared<PodEnd>(ends);
    ends.failure = co_await relay_session(tasks, std::move(client), std::move(pod), limits,
                                          std::move(must_end), ends.traffic);
    ends.relay_ended = true;
    ends.to_client.end();
}

std::optional<Error> never() { return std::nullopt; }

// The messages that the client got, the outcome last.
aio::Task<std::vector<std::string>> all_of_client(Ends& ends) {
    std::vector<std::string> messages;
    for (;;) {
        const aio::Deadline deadline = relay_soon();
        Result<std::optional<std::string>> message = co_await ends.to_client.receive(deadline);
        EXPECT_TRUE(message);
        if (!message || !message->has_value()) co_return messages;
        messages.push_back(std::move(**message));
    }
}

aio::Task<void> both_ways(aio::Loop& loop) {
    Ends ends{loop};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, quick_limits(), std::move(must_end)));
    std::string keys = wire::session_frame(SessionChannel::input, "ls\n");
    std::string size =
        wire::session_frame(SessionChannel::terminal_size, R"({"columns":80,"rows":24})");
    std::string end = wire::session_frame(SessionChannel::end_of_input, "");
    const aio::Deadline deadline = relay_soon();
    co_await ends.from_client.put(std::move(keys), deadline);
    co_await ends.from_client.put(std::move(size), deadline);
    co_await ends.from_client.put(std::move(end), deadline);
    for (const char* expected : {"ls\n", "<80x24>", "<end>"}) {
        Result<std::optional<std::string>> got = co_await ends.to_pod.receive(deadline);
        EXPECT_TRUE(got && got->has_value() && **got == expected) << expected;
    }
    std::string output = "file\n";
    co_await ends.from_pod.put(std::move(output), deadline);
    ends.from_pod.end();
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_EQ(messages, (std::vector<std::string>{"\x01"
                                                  "file\n",
                                                  "\x03{\"exitCode\":3}"}));
    EXPECT_TRUE(ends.client_closed && ends.pod_closed);
    EXPECT_EQ(ends.traffic.to_pods, 3U) << "input alone is counted";
    EXPECT_EQ(ends.traffic.from_pods, 5U);
    EXPECT_FALSE(ends.failure) << "an exit code is no failure of the session";
    co_await tasks.join(deadline);
}

TEST(SessionRelay, bytes_go_both_ways_and_the_exit_code_comes_last) {
    aio::Loop loop;
    aio::run_to_end(loop, both_ways(loop));
}

// The pod has 1,000 messages for a client that takes none at first.
aio::Task<void> slow_client(aio::Loop& loop) {
    Ends ends{loop};
    ends.to_client.room = 1;
    ends.from_pod.room = 4;
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, quick_limits(), std::move(must_end)));
    for (int i = 0; i < 5; ++i) {
        // The relay holds one message more than the two ends have room for.
        const aio::Deadline deadline = relay_soon();
        std::string piece(1, static_cast<char>('a' + i));
        Result<void> put = co_await ends.from_pod.put(std::move(piece), deadline);
        EXPECT_TRUE(put);
    }
    const aio::Deadline later = aio::Deadline::in(std::chrono::milliseconds{100});
    std::string sixth = "f";
    Result<void> first = co_await ends.from_pod.put(std::move(sixth), later);
    std::string seventh = "g";
    Result<void> second = co_await ends.from_pod.put(std::move(seventh), later);
    EXPECT_FALSE(first && second) << "the pod must wait for the client";
    EXPECT_EQ(ends.to_client.waiting_most, 1U);
    ends.from_pod.end();
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_GE(messages.size(), 6U);
    EXPECT_EQ(messages.front(),
              "\x01"
              "a");
    EXPECT_EQ(messages.back(), "\x03{\"exitCode\":3}");
    const aio::Deadline deadline = relay_soon();
    co_await tasks.join(deadline);
}

TEST(SessionRelay, a_client_that_does_not_read_makes_the_pod_wait) {
    aio::Loop loop;
    aio::run_to_end(loop, slow_client(loop));
}

aio::Task<void> slow_pod(aio::Loop& loop) {
    Ends ends{loop};
    ends.to_pod.room = 1;
    ends.from_client.room = 1;
    SessionLimits limits = quick_limits();
    limits.stalled = std::chrono::milliseconds{100};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, limits, std::move(must_end)));
    bool waited = false;
    for (int i = 0; i < 4; ++i) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::milliseconds{20});
        std::string keys = wire::session_frame(SessionChannel::input, "x");
        Result<void> put = co_await ends.from_client.put(std::move(keys), deadline);
        waited = waited || !put;
    }
    EXPECT_TRUE(waited) << "the client must wait for the pod";
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_EQ(ends.to_pod.waiting_most, 1U);
    EXPECT_FALSE(messages.empty());
    if (messages.empty()) co_return;
    const Result<std::int32_t> outcome =
        wire::read_session_outcome(std::string_view{messages.back()}.substr(1));
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::Timeout);
    const aio::Deadline deadline = relay_soon();
    co_await tasks.join(deadline);
    EXPECT_EQ(ends.failure, SessionFailure::stalled);
}

TEST(SessionRelay, a_pod_that_does_not_read_makes_the_client_wait_and_then_ends_the_session) {
    aio::Loop loop;
    aio::run_to_end(loop, slow_pod(loop));
}

aio::Task<void> ended_from_outside(aio::Loop& loop) {
    Ends ends{loop};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = [] {
        return std::optional<Error>{make_error(ErrorCode::ShuttingDown, "gpuctld is stopping")};
    };
    tasks.spawn("relay", relay_all(tasks, ends, quick_limits(), std::move(must_end)));
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_EQ(messages.size(), 1U);
    if (messages.size() != 1) co_return;
    const auto outcome = wire::read_session_outcome(std::string_view{messages[0]}.substr(1));
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::ShuttingDown);
    EXPECT_TRUE(ends.client_closed && ends.pod_closed);
    const aio::Deadline deadline = relay_soon();
    co_await tasks.join(deadline);
    EXPECT_EQ(ends.failure, SessionFailure::stopped);
}

TEST(SessionRelay, a_session_that_must_end_ends_with_the_reason) {
    aio::Loop loop;
    aio::run_to_end(loop, ended_from_outside(loop));
}

aio::Task<void> idle_session(aio::Loop& loop) {
    Ends ends{loop};
    SessionLimits limits = quick_limits();
    limits.idle = std::chrono::milliseconds{50};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, limits, std::move(must_end)));
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_EQ(messages.size(), 1U);
    EXPECT_NE(messages.empty() ? 0U : messages[0].find("no byte in either direction"),
              std::string::npos);
    const aio::Deadline deadline = relay_soon();
    co_await tasks.join(deadline);
}

TEST(SessionRelay, an_idle_session_ends) {
    aio::Loop loop;
    aio::run_to_end(loop, idle_session(loop));
}

// The pod writes without a pause, so that the session is never idle.
aio::Task<void> busy_session(aio::Loop& loop) {
    Ends ends{loop};
    ends.from_pod.room = 1;
    SessionLimits limits = quick_limits();
    limits.longest = std::chrono::milliseconds{50};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, limits, std::move(must_end)));
    const aio::Deadline deadline = relay_soon();
    while (!ends.relay_ended && !deadline.passed()) {
        const aio::Deadline pause = aio::Deadline::in(std::chrono::milliseconds{5});
        std::string more = "x";
        co_await ends.from_pod.put(std::move(more), pause);
    }
    EXPECT_TRUE(ends.relay_ended);
    EXPECT_EQ(ends.failure, SessionFailure::too_long);
    EXPECT_TRUE(!ends.to_client.waiting.empty() &&
                ends.to_client.waiting.back().find("(expert.server.sessionLongest)") !=
                    std::string::npos);
    co_await tasks.join(deadline);
}

TEST(SessionRelay, a_session_that_is_never_idle_ends_too) {
    aio::Loop loop;
    aio::run_to_end(loop, busy_session(loop));
}

// The client takes nothing, so that the relay waits in a write when gpuctld stops.
aio::Task<void> silent_client(aio::Loop& loop) {
    Ends ends{loop};
    ends.to_client.room = 0;
    SessionLimits limits = quick_limits();
    limits.goodbye = std::chrono::milliseconds{20};
    aio::TaskGroup tasks{loop};
    bool stops = false;
    MustEnd must_end = [&stops]() -> std::optional<Error> {
        if (!stops) return std::nullopt;
        return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping");
    };
    tasks.spawn("relay", relay_all(tasks, ends, limits, std::move(must_end)));
    const aio::Deadline deadline = relay_soon();
    std::string more = "x";
    co_await ends.from_pod.put(std::move(more), deadline);
    const aio::Deadline pause = aio::Deadline::in(std::chrono::milliseconds{20});
    co_await aio::sleep_until(pause);
    stops = true;
    const aio::Clock::time_point began = aio::Clock::now();
    const bool ended = co_await tasks.join(deadline);
    EXPECT_TRUE(ended);
    EXPECT_LT(aio::Clock::now() - began, std::chrono::seconds{5}) << "not the minute of a write";
    EXPECT_TRUE(ends.pod_closed);
    EXPECT_EQ(ends.failure, SessionFailure::stopped);
}

TEST(SessionRelay, a_client_that_takes_nothing_does_not_keep_gpuctld_from_stopping) {
    aio::Loop loop;
    aio::run_to_end(loop, silent_client(loop));
}

aio::Task<void> client_leaves(aio::Loop& loop) {
    Ends ends{loop};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, quick_limits(), std::move(must_end)));
    ends.from_client.end();
    const aio::Deadline deadline = relay_soon();
    const bool joined = co_await tasks.join(deadline);
    EXPECT_TRUE(joined);
    EXPECT_TRUE(ends.pod_closed) << "the command in the pod must not go on unseen";
}

TEST(SessionRelay, a_client_that_leaves_ends_the_session_in_the_pod) {
    aio::Loop loop;
    aio::run_to_end(loop, client_leaves(loop));
}

aio::Task<void> bad_message(aio::Loop& loop) {
    Ends ends{loop};
    aio::TaskGroup tasks{loop};
    MustEnd must_end = never;
    tasks.spawn("relay", relay_all(tasks, ends, quick_limits(), std::move(must_end)));
    const aio::Deadline deadline = relay_soon();
    std::string outcome_of_client = wire::session_frame(SessionChannel::outcome, "{}");
    co_await ends.from_client.put(std::move(outcome_of_client), deadline);
    const std::vector<std::string> messages = co_await all_of_client(ends);
    EXPECT_EQ(messages.size(), 1U);
    EXPECT_NE(messages.empty() ? 0U : messages[0].find("BadRequest"), std::string::npos);
    co_await tasks.join(deadline);
}

TEST(SessionRelay, a_message_that_clients_may_not_send_ends_the_session) {
    aio::Loop loop;
    aio::run_to_end(loop, bad_message(loop));
}

}  // namespace
}  // namespace gpuctl::api
