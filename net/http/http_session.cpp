#include "net/http/http_session.hpp"

#include <array>
#include <utility>

#include "net/http/http_guard.hpp"
#include "net/http/http_parser.hpp"
#include "net/http/http_text.hpp"
#include "net/websocket/websocket_beast.hpp"
#include "scheduler/base/ascii.hpp"

namespace gpuctl::net {

namespace {

using State = IoOutcome::State;

// Beyond the header: room for the bytes that follow it, and for one chunk-size line.
constexpr std::size_t kBufferBeyondHeader = 16u << 10;
// A response may take write_timeout and a second more per 64 KiB.
constexpr std::size_t kSlowestReaderBytesPerSecond = 64u << 10;

bool wants_upgrade(const HttpRequest& request, const RequestParser& parser) {
    return parser.upgrade() && request.method == "GET" &&
           lower_case(request.fields.get("Upgrade")) == "websocket";
}

}  // namespace

HttpSession::HttpSession(std::shared_ptr<SessionsShared> shared, std::unique_ptr<ByteStream> stream,
                         std::string remote)
    : shared_(std::move(shared)),
      stream_(std::move(stream)),
      remote_(std::move(remote)),
      buffer_(shared_->settings.header_bytes_max + kBufferBeyondHeader),
      place_(shared_->sessions.insert(shared_->sessions.end(), this)) {}

HttpSession::~HttpSession() { shared_->sessions.erase(place_); }

void HttpSession::stop() {
    if (const auto socket = socket_.lock()) socket->going_away();
    if (phase_ == Phase::reading && stream_) stream_->interrupt();
}

aio::Task<void> HttpSession::run() {
    bool more = true;
    while (more && !shared_->stopping) {
        more = co_await serve_one();
        first_ = false;
    }
}

aio::Task<bool> HttpSession::serve_one() {
    phase_ = Phase::reading;
    const HttpServerSettings& settings = shared_->settings;
    const std::size_t header_size = co_await read_header();
    if (header_size == 0) co_return false;

    const std::string_view header = buffer_.bytes().substr(0, header_size);
    const auto refusal = guard_header(header, GuardLimits{settings.target_bytes_max});
    if (refusal) {
        co_await refuse_with(refusal->status, refusal->code, refusal->message, false);
        co_return false;
    }
    HttpRequest request;
    request.remote = remote_;
    RequestParser parser{request, settings.header_bytes_max + 1};
    std::string why;
    if (!feed(parser, buffer_, why) || !parser.is_header_done()) {
        co_await refuse_with(400, "BadRequest", "read the request: " + why, false);
        co_return false;
    }
    phase_ = Phase::working;
    const bool more = co_await serve(std::move(request), parser);
    co_return more;
}

aio::Task<std::size_t> HttpSession::read_header() {
    const HttpServerSettings& settings = shared_->settings;
    auto deadline = aio::Deadline::in(first_ || !buffer_.empty() ? settings.header_timeout
                                                                 : settings.idle_timeout);
    std::size_t scanned = 0;
    bool crlf_skipped = false;
    for (;;) {
        // A client may end the previous body with an extra CRLF (RFC 9112, 2.2).
        if (!crlf_skipped && buffer_.bytes().starts_with("\r\n")) {
            buffer_.consume(2);
            crlf_skipped = true;
            scanned = 0;
        }
        const HeaderScan scan = scan_header(buffer_.bytes(), scanned);
        const bool complete = scan.state == HeaderScan::State::complete;
        if (complete && scan.bytes <= settings.header_bytes_max) co_return scan.bytes;
        scanned = buffer_.size();
        if (scan.state == HeaderScan::State::malformed) {
            co_await refuse_with(400, "BadRequest",
                                 "read the request header: a line does not end in CRLF", false);
            co_return 0;
        }
        if (scanned > settings.header_bytes_max) {
            std::string message = "read the request header: more than ";
            message += std::to_string(settings.header_bytes_max) + " bytes";
            co_await refuse_with(431, "HeaderTooLarge", std::move(message), false);
            co_return 0;
        }
        char* const room = buffer_.room();
        const IoOutcome outcome = stream_->try_read(room, buffer_.room_size());
        if (outcome.state == State::moved) {
            if (buffer_.empty() && !first_) deadline = aio::Deadline::in(settings.header_timeout);
            buffer_.filled(outcome.bytes);
            continue;
        }
        if (outcome.state != State::again) co_return 0;
        const Wake wake = co_await stream_->wait(Side::read, deadline);
        if (wake == Wake::timeout && !buffer_.empty()) {
            co_await refuse_with(408, "RequestTimeout",
                                 "read the request header: not complete in time", false);
        }
        if (wake != Wake::ready || shared_->stopping) co_return 0;
    }
}

aio::Task<bool> HttpSession::serve(HttpRequest request, RequestParser& parser) {
    const bool head = request.method == "HEAD";
    HeaderVerdict verdict = check_header(request);
    const auto length = parser.content_length();
    if (!verdict.refuse && length && *length > verdict.body_bytes_max) {
        verdict.refuse = shared_->handler.problem(
            413, "BodyTooLarge",
            "read the request body: " + std::to_string(*length) + " bytes, at most " +
                std::to_string(verdict.body_bytes_max) + " are accepted");
    }
    if (verdict.refuse) {
        // Without a body to skip, the connection is still in step and may continue.
        if (parser.is_done()) {
            const bool close = !parser.keep_alive();
            const bool more = co_await respond(std::move(*verdict.refuse), head, close);
            co_return more;
        }
        co_await refuse(std::move(*verdict.refuse), head);
        co_return false;
    }
    if (wants_upgrade(request, parser)) {
        // A body before the upgrade could be read as frames by one side and as a body by the other.
        if (!parser.is_done()) {
            co_await refuse_with(400, "BadRequest", "upgrade: the request must have no body", head);
            co_return false;
        }
        const bool more = co_await upgrade(std::move(request));
        co_return more;
    }
    phase_ = Phase::reading;  // no handler sees it before it is complete
    const bool whole = co_await read_body(request, parser, verdict.body_bytes_max);
    if (!whole) co_return false;
    phase_ = Phase::working;
    HttpResponse response = co_await ask_handler(std::move(request));
    const bool asked_to_close = lower_case(response.fields.get("Connection")) == "close";
    const bool close = !parser.keep_alive() || parser.version() < 11 || asked_to_close;
    const bool more = co_await respond(std::move(response), head, close);
    co_return more;
}

HeaderVerdict HttpSession::check_header(const HttpRequest& request) {
    try {
        return shared_->handler.on_header(request);
    } catch (const std::exception& exception) {
        shared_->handler.on_failure(exception.what());
    } catch (...) {
        shared_->handler.on_failure("unknown exception");
    }
    return HeaderVerdict{server_failed(), 0};
}

HttpResponse HttpSession::server_failed() {
    return shared_->handler.problem(500, "Internal", "the server failed on this request");
}

aio::Task<bool> HttpSession::read_body(HttpRequest& request, RequestParser& parser,
                                       std::size_t bytes_max) {
    const bool head = request.method == "HEAD";
    const auto deadline = aio::Deadline::in(shared_->settings.body_timeout);
    parser.body_to(request.body, bytes_max);
    parser.eager(true);
    if (!parser.is_done() && buffer_.empty() && request.fields.has("Expect")) {
        std::size_t sent = 0;
        const Result<void> written =
            co_await stream_->write_all("HTTP/1.1 100 Continue\r\n\r\n", sent, deadline);
        if (!written) co_return false;
    }
    bool arrived = !buffer_.empty();
    while (!parser.is_done()) {
        std::string why;
        const bool parsed = !arrived || feed(parser, buffer_, why);
        if (!parsed || buffer_.full()) {
            if (parser.over_limit()) {
                std::string message = "read the request body: at most ";
                message += std::to_string(bytes_max) + " bytes are accepted";
                co_await refuse_with(413, "BodyTooLarge", std::move(message), head);
            } else {
                co_await refuse_with(400, "BadRequest", "read the request body: " + why, head);
            }
            co_return false;
        }
        if (parser.is_done()) break;
        char* const room = buffer_.room();
        const IoOutcome outcome = stream_->try_read(room, buffer_.room_size());
        arrived = outcome.state == State::moved;
        if (arrived) {
            buffer_.filled(outcome.bytes);
            continue;
        }
        if (outcome.state != State::again) co_return false;
        const Wake wake = co_await stream_->wait(Side::read, deadline);
        if (wake == Wake::timeout) {
            co_await refuse_with(408, "RequestTimeout",
                                 "read the request body: not complete in time", head);
        }
        if (shared_->stopping) {
            co_await refuse_with(503, "ShuttingDown",
                                 "read the request body: gpuctld is stopping; retry", head);
            co_return false;
        }
        if (wake != Wake::ready) co_return false;
    }
    co_return true;
}

aio::Task<HttpResponse> HttpSession::ask_handler(HttpRequest request) {
    std::string failure;
    try {
        HttpResponse response = co_await shared_->handler.on_request(std::move(request));
        co_return std::move(response);
    } catch (const std::exception& exception) {
        failure = exception.what();
    } catch (...) {
        failure = "unknown exception";
    }
    shared_->handler.on_failure(failure);
    co_return server_failed();
}

aio::Task<bool> HttpSession::upgrade(HttpRequest request) {
    std::optional<HttpResponse> refused;
    std::string failure;
    try {
        std::optional<HttpResponse> verdict = co_await shared_->handler.on_upgrade(request);
        refused = std::move(verdict);
    } catch (const std::exception& exception) {
        failure = exception.what();
    } catch (...) {
        failure = "unknown exception";
    }
    if (!failure.empty()) {
        shared_->handler.on_failure(failure);
        refused = server_failed();
    }
    if (refused) {
        const bool more = co_await respond(std::move(*refused), false, false);
        co_return more;
    }
    if (shared_->stopping) co_return false;
    phase_ = Phase::upgraded;
    const std::string early(buffer_.bytes());  // frames sent right behind the request
    const std::shared_ptr<BeastWebSocket> socket =
        BeastWebSocket::make(shared_->loop, std::move(stream_), early, shared_->settings.websocket);
    socket_ = socket;
    std::string protocol = shared_->handler.choose_protocol(request);
    const Result<void> open = co_await socket->accept(
        request, std::move(protocol), aio::Deadline::in(shared_->settings.header_timeout));
    if (!open) co_return false;
    try {
        std::unique_ptr<WebSocket> face = BeastWebSocket::face(socket);
        co_await shared_->handler.on_websocket(std::move(request), std::move(face));
    } catch (const std::exception& exception) {
        failure = exception.what();
    } catch (...) {
        failure = "unknown exception";
    }
    if (!failure.empty()) shared_->handler.on_failure(failure);
    co_return false;
}

aio::Task<bool> HttpSession::respond(HttpResponse response, bool head, bool close) {
    close = close || shared_->stopping;
    outgoing_.clear();
    append_response(response, ResponseText{head, close}, outgoing_);
    const auto extra = std::chrono::seconds(outgoing_.size() / kSlowestReaderBytesPerSecond);
    const auto deadline = aio::Deadline::in(shared_->settings.write_timeout + extra);
    std::size_t sent = 0;
    const Result<void> written = co_await stream_->write_all(outgoing_, sent, deadline);
    co_return written.has_value() && !close;
}

aio::Task<void> HttpSession::refuse_with(int status, std::string code, std::string message,
                                         bool head) {
    return refuse(shared_->handler.problem(status, std::move(code), std::move(message)), head);
}

aio::Task<void> HttpSession::refuse(HttpResponse response, bool head) {
    co_await respond(std::move(response), head, true);
    co_await close_gently(*stream_);
}

aio::Task<void> close_gently(ByteStream& stream) {
    constexpr std::size_t discard_bytes_max = 256u << 10;
    const auto deadline = aio::Deadline::in(std::chrono::seconds(1));
    stream.shutdown_write();
    std::array<char, 4096> discarded{};
    std::size_t total = 0;
    while (total < discard_bytes_max) {
        const IoOutcome outcome = stream.try_read(discarded.data(), discarded.size());
        total += outcome.bytes;
        if (outcome.state == State::moved) continue;
        if (outcome.state != State::again) break;
        const Wake wake = co_await stream.wait(Side::read, deadline);
        if (wake != Wake::ready) break;
    }
    stream.close();
}

aio::Task<void> run_session(std::shared_ptr<SessionsShared> shared,
                            std::unique_ptr<ByteStream> stream, std::string remote) {
    HttpSession session{std::move(shared), std::move(stream), std::move(remote)};
    co_await session.run();
}

}  // namespace gpuctl::net
