#include "daemon/api/sessions/session_relay.hpp"

#include <optional>
#include <utility>

#include "aio/loop.hpp"
#include "wire/session_frames.hpp"

namespace gpuctl::api {
namespace {

using wire::SessionChannel;

struct Relayed {
    std::shared_ptr<net::WebSocket> client;
    std::shared_ptr<ports::SessionStream> pod;
    SessionLimits limits;
    MustEnd must_end;
    SessionTraffic& traffic;
    bool over = false;
    bool client_gone = false;
    std::optional<Error> broken{};  // by the client, or on the way to the pod
    std::optional<SessionFailure> failure{};
    aio::Clock::time_point opened_at = aio::Clock::now();
    aio::Clock::time_point moved_at = opened_at;

    Error end_for(SessionFailure why, Error error) {
        failure = why;
        return error;
    }

    // Even while bytes move.
    [[nodiscard]] std::optional<Error> why_end_now() {
        if (std::optional<Error> must = must_end()) return end_for(SessionFailure::stopped, *must);
        if (aio::Clock::now() - opened_at < limits.longest) return std::nullopt;
        return end_for(SessionFailure::too_long,
                       make_error(ErrorCode::Timeout,
                                  "the session was ended: it was open for " +
                                      std::to_string(limits.longest.count() / 1000) +
                                      " s, which is the most (expert.server.sessionLongest); open "
                                      "another one"));
    }

    [[nodiscard]] std::optional<Error> why_end() {
        if (broken) return broken;
        if (std::optional<Error> now = why_end_now()) return now;
        if (aio::Clock::now() - moved_at < limits.idle) return std::nullopt;
        return end_for(SessionFailure::idle,
                       make_error(ErrorCode::Timeout,
                                  "the session was ended: no byte in either direction for " +
                                      std::to_string(limits.idle.count() / 1000) +
                                      " s (expert.server.sessionIdle)"));
    }
};

// nullopt: not a message that a client may send.
std::optional<ports::SessionInput> input_of(std::string_view message) {
    const std::optional<wire::SessionFrame> frame = wire::read_session_frame(message);
    if (!frame) return std::nullopt;
    ports::SessionInput input;
    if (frame->channel == SessionChannel::input) {
        input.bytes = frame->bytes;
        return input;
    }
    if (frame->channel == SessionChannel::end_of_input) {
        input.kind = ports::SessionInput::Kind::end;
        return input;
    }
    if (frame->channel != SessionChannel::terminal_size) return std::nullopt;
    const std::optional<wire::TerminalSize> size = wire::read_terminal_size(frame->bytes);
    if (!size) return std::nullopt;
    input.kind = ports::SessionInput::Kind::terminal_size;
    input.columns = size->columns;
    input.rows = size->rows;
    return input;
}

aio::Task<void> carry_input(std::shared_ptr<Relayed> relayed) {
    while (!relayed->over) {
        const aio::Deadline slice = aio::Deadline::in(relayed->limits.look_up);
        Result<std::optional<std::string>> message = co_await relayed->client->read_bytes(slice);
        if (!message && message.error().code == ErrorCode::Timeout) continue;
        if (!message || !message->has_value()) {
            relayed->client_gone = true;
            co_return;
        }
        relayed->moved_at = aio::Clock::now();
        std::optional<ports::SessionInput> input = input_of(**message);
        if (!input) {
            relayed->broken = relayed->end_for(
                SessionFailure::client,
                make_error(
                    ErrorCode::BadRequest,
                    "read a message of the session: its first byte is not 0 (input), 4 (size of "
                    "the terminal) or 5 (end of input), or the size is not {\"columns\":, "
                    "\"rows\":}"));
            co_return;
        }
        const std::size_t bytes = input->bytes.size();
        const aio::Deadline stalled = aio::Deadline::in(relayed->limits.stalled);
        Result<void> written = co_await relayed->pod->write(std::move(*input), stalled);
        if (written) relayed->traffic.to_pods += bytes;
        if (written || relayed->over) continue;
        // The pod's own last words, if it has any, say more than a failed write.
        if (written.error().code == ErrorCode::Timeout) {
            relayed->broken = relayed->end_for(
                SessionFailure::stalled, while_doing("send input to the pod", written.error()));
        }
        co_return;
    }
}

std::string frame_of(const ports::SessionOutput& output) {
    using Kind = ports::SessionOutput::Kind;
    switch (output.kind) {
        case Kind::bytes:
            return wire::session_frame(SessionChannel::output, output.bytes);
        case Kind::error_bytes:
            return wire::session_frame(SessionChannel::error_output, output.bytes);
        case Kind::ended:
            break;
    }
    return wire::session_frame(SessionChannel::outcome,
                               output.failed ? wire::session_outcome_json(*output.failed)
                                             : wire::session_outcome_json(output.exit_code));
}

ports::SessionOutput end_because(Error failed) {
    ports::SessionOutput output;
    output.kind = ports::SessionOutput::Kind::ended;
    output.failed = std::move(failed);
    return output;
}

// The next output, or why there is none any more; nullopt: look again.
aio::Task<std::optional<ports::SessionOutput>> next_output(std::shared_ptr<Relayed> relayed) {
    const aio::Deadline slice = aio::Deadline::in(relayed->limits.look_up);
    Result<ports::SessionOutput> output = co_await relayed->pod->read(slice);
    if (output) {
        relayed->moved_at = aio::Clock::now();
        if (output->kind == ports::SessionOutput::Kind::ended) {
            if (output->failed) relayed->failure = SessionFailure::node;
            co_return std::move(*output);
        }
        if (std::optional<Error> why = relayed->why_end_now()) co_return end_because(*why);
        co_return std::move(*output);
    }
    if (output.error().code != ErrorCode::Timeout) {
        co_return end_because(relayed->end_for(SessionFailure::node, output.error()));
    }
    if (std::optional<Error> why = relayed->why_end()) co_return end_because(*why);
    co_return std::nullopt;
}

aio::Task<void> carry_output(std::shared_ptr<Relayed> relayed) {
    while (!relayed->client_gone) {
        std::optional<ports::SessionOutput> output = co_await next_output(relayed);
        if (!output) continue;
        const bool is_end = output->kind == ports::SessionOutput::Kind::ended;
        const std::size_t bytes = output->bytes.size();
        const aio::Deadline stalled =
            aio::Deadline::in(is_end ? relayed->limits.goodbye : relayed->limits.stalled);
        std::string frame = frame_of(*output);
        Result<void> written = co_await relayed->client->write_bytes(std::move(frame), stalled);
        if (written) relayed->traffic.from_pods += bytes;
        if (!written && written.error().code == ErrorCode::Timeout && !relayed->failure) {
            relayed->failure = SessionFailure::stalled;
        }
        if (!written || is_end) co_return;
    }
}

// A client that takes nothing keeps carry_output() in its write. When the session must end, it gets
// some time to take the reason; then its connection is closed.
aio::Task<void> cut_off(std::shared_ptr<Relayed> relayed) {
    while (!relayed->over) {
        const aio::Deadline pause = aio::Deadline::in(relayed->limits.look_up);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept || relayed->over) co_return;
        if (!relayed->must_end()) continue;
        const aio::Deadline goodbye = aio::Deadline::in(relayed->limits.goodbye);
        co_await aio::sleep_until(goodbye);
        if (relayed->over) co_return;
        relayed->failure = SessionFailure::stopped;
        const aio::Deadline now = aio::Deadline::in(std::chrono::milliseconds{0});
        std::string why;
        co_await relayed->client->close(net::CloseCode::going_away, std::move(why), now);
        co_return;
    }
}

}  // namespace

aio::Task<std::optional<SessionFailure>> relay_session(aio::TaskGroup& tasks,
                                                       std::shared_ptr<net::WebSocket> client,
                                                       std::shared_ptr<ports::SessionStream> pod,
                                                       SessionLimits limits, MustEnd must_end,
                                                       SessionTraffic& traffic) {
    const std::shared_ptr<Relayed> relayed{
        new Relayed{std::move(client), std::move(pod), limits, std::move(must_end), traffic}};
    tasks.spawn("input of a session", carry_input(relayed));
    tasks.spawn("end of a session", cut_off(relayed));
    co_await carry_output(relayed);
    relayed->over = true;
    const aio::Deadline goodbye = aio::Deadline::in(limits.goodbye);
    std::string nothing;
    co_await relayed->client->close(net::CloseCode::normal, std::move(nothing), goodbye);
    const aio::Deadline to_pod = aio::Deadline::in(limits.goodbye);
    co_await relayed->pod->close(to_pod);
    co_return relayed->failure;
}

}  // namespace gpuctl::api
