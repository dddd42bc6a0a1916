#include "cli/sessions/pod_session.hpp"

#include "cli/commands/commands.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::cli {

namespace {

// A session ends by its own limits in gpuctld, not by these.
constexpr std::chrono::hours kAsLongAsItTakes{24 * 365};
constexpr std::size_t kErrorBytesKept = 4u << 10;

}  // namespace

std::string session_target(const SessionWish& wish, const std::string& namespace_name) {
    std::string target = "/api/v1/jobs/" + net::percent_encode(wish.job) + "/" + wish.route +
                         query({{"namespace", namespace_name},
                                {"pod", wish.pod},
                                {"container", wish.container},
                                {"stdin", wish.has_input ? "true" : ""},
                                {"tty", wish.has_terminal ? "true" : ""},
                                {"port", wish.port > 0 ? std::to_string(wish.port) : ""}});
    for (const std::string& word : wish.command) {
        target += target.find('?') == std::string::npos ? '?' : '&';
        target += "command=" + net::percent_encode(word);
    }
    return target;
}

aio::Task<Result<std::shared_ptr<PodSession>>> PodSession::open(Connection& connection,
                                                                SessionWish wish) {
    std::string target = session_target(wish, connection.options().namespace_name);
    Result<std::unique_ptr<net::WebSocket>> socket =
        co_await connection.open_websocket(std::move(target));
    if (!socket) co_return socket.error();
    co_return std::make_shared<PodSession>(std::move(*socket));
}

aio::Task<Result<void>> PodSession::send(wire::SessionChannel channel, std::string bytes) {
    std::string frame = wire::session_frame(channel, bytes);
    const aio::Deadline deadline = aio::Deadline::in(kAsLongAsItTakes);
    Result<void> written = co_await socket_->write_bytes(std::move(frame), deadline);
    co_return written;
}

aio::Task<Result<SessionPiece>> PodSession::next() {
    const aio::Deadline deadline = aio::Deadline::in(kAsLongAsItTakes);
    Result<std::optional<std::string>> message = co_await socket_->read_bytes(deadline);
    if (!message) co_return message.error();
    if (!message->has_value()) {
        co_return make_error(ErrorCode::Unreachable,
                             "gpuctld ended the session without saying why");
    }
    const std::optional<wire::SessionFrame> frame = wire::read_session_frame(**message);
    if (!frame) {
        co_return make_error(ErrorCode::ProtocolError,
                             "read the session: a message of an unknown channel; is gpuctld newer "
                             "than gpuctl?");
    }
    co_return SessionPiece{frame->channel, std::string{frame->bytes}};
}

aio::Task<void> PodSession::close() {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{1});
    std::string nothing;
    co_await socket_->close(net::CloseCode::normal, std::move(nothing), deadline);
}

int session_exit_code(const Error& failed) {
    const int exit_code = report(failed, Format::table);
    return exit_code == 0 || exit_code == 2 ? 1 : exit_code;
}

aio::Task<Result<ShortRun>> run_shortly(Connection& connection, SessionWish wish) {
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(connection, std::move(wish));
    if (!session) co_return session.error();
    ShortRun run;
    for (;;) {
        Result<SessionPiece> piece = co_await (*session)->next();
        if (!piece) co_return piece.error();
        if (piece->channel == wire::SessionChannel::error_output &&
            run.errors.size() < kErrorBytesKept) {
            run.errors += piece->bytes;
        }
        if (piece->channel != wire::SessionChannel::outcome) continue;
        const Result<std::int32_t> code = wire::read_session_outcome(piece->bytes);
        if (!code) co_return code.error();
        run.exit_code = *code;
        co_return run;
    }
}

}  // namespace gpuctl::cli
