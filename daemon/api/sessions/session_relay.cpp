#include "daemon/api/sessions/session_relay.hpp"

#include <optional>
#include <utility>

#include "wire/session_frames.hpp"

namespace gpuctl::api {
namespace {

using wire::SessionChannel;

constexpr std::chrono::seconds kGoodbye{2};

struct Relayed {
    std::shared_ptr<net::WebSocket> client;
    std::shared_ptr<ports::SessionStream> pod;
    SessionLimits limits;
    MustEnd must_end;
    bool over = false;
    bool client_gone = false;
    std::optional<Error> broken;  // by the client, or on the way to the pod
    aio::Clock::time_point moved_at = aio::Clock::now();

    [[nodiscard]] std::optional<Error> why_end() const {
        if (broken) return broken;
        if (std::optional<Error> must = must_end()) return must;
        if (aio::Clock::now() - moved_at < limits.idle) return std::nullopt;
        return make_error(ErrorCode::Timeout,
                          "the session was ended: no byte in either direction for " +
                              std::to_string(limits.idle.count() / 1000) + " s");
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
            relayed->broken = make_error(
                ErrorCode::BadRequest,
                "read a message of the session: its first byte is not 0 (input), 4 (size of the "
                "terminal) or 5 (end of input), or the size is not {\"columns\":, \"rows\":}");
            co_return;
        }
        const aio::Deadline stalled = aio::Deadline::in(relayed->limits.stalled);
        Result<void> written = co_await relayed->pod->write(std::move(*input), stalled);
        if (written || relayed->over) continue;
        // The pod's own last words, if it has any, say more than a failed write.
        if (written.error().code == ErrorCode::Timeout) {
            relayed->broken = while_doing("send input to the pod", written.error());
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
        if (std::optional<Error> why = relayed->must_end()) co_return end_because(*why);
        co_return std::move(*output);
    }
    if (output.error().code != ErrorCode::Timeout) co_return end_because(output.error());
    if (std::optional<Error> why = relayed->why_end()) co_return end_because(*why);
    co_return std::nullopt;
}

aio::Task<void> carry_output(std::shared_ptr<Relayed> relayed) {
    while (!relayed->client_gone) {
        std::optional<ports::SessionOutput> output = co_await next_output(relayed);
        if (!output) continue;
        const bool is_end = output->kind == ports::SessionOutput::Kind::ended;
        const aio::Deadline stalled = aio::Deadline::in(relayed->limits.stalled);
        std::string frame = frame_of(*output);
        Result<void> written = co_await relayed->client->write_bytes(std::move(frame), stalled);
        if (!written || is_end) co_return;
    }
}

}  // namespace

aio::Task<void> relay_session(aio::TaskGroup& tasks, std::shared_ptr<net::WebSocket> client,
                              std::shared_ptr<ports::SessionStream> pod, SessionLimits limits,
                              MustEnd must_end) {
    const auto relayed = std::make_shared<Relayed>();
    relayed->client = std::move(client);
    relayed->pod = std::move(pod);
    relayed->limits = limits;
    relayed->must_end = std::move(must_end);
    tasks.spawn("input of a session", carry_input(relayed));
    co_await carry_output(relayed);
    relayed->over = true;
    const aio::Deadline goodbye = aio::Deadline::in(kGoodbye);
    std::string nothing;
    co_await relayed->client->close(net::CloseCode::normal, std::move(nothing), goodbye);
    const aio::Deadline to_pod = aio::Deadline::in(kGoodbye);
    co_await relayed->pod->close(to_pod);
}

}  // namespace gpuctl::api
