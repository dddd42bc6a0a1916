#include "net/http/http_exchange.hpp"

#include "net/http/http_parser.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::net {

namespace {

using State = IoOutcome::State;

void fail(Exchange& exchange, ErrorCode code, std::string message) {
    exchange.failure = make_error(code, std::move(message));
}

// True when the request is sent, or enough of it that an early answer is worth reading.
aio::Task<bool> send_request(HttpConnection& connection, Exchange& exchange,
                             aio::Deadline deadline) {
    const Result<void> written =
        co_await connection.stream->write_all(connection.outgoing, exchange.bytes_sent, deadline);
    if (written) co_return true;
    Error error = written.error();
    exchange.peer_gone = error.code == ErrorCode::Unreachable;
    // A server may refuse a large body and close before it has read all of it.
    if (exchange.peer_gone && exchange.bytes_sent > 0) co_return true;
    if (exchange.bytes_sent > 0) error.code = ErrorCode::UnknownOutcome;
    exchange.failure = std::move(error);
    co_return false;
}

// Reads until `parser` has the whole message.
aio::Task<void> read_response(HttpConnection& connection, ResponseParser& parser,
                              Exchange& exchange, aio::Deadline deadline) {
    ReadBuffer& buffer = connection.buffer;
    // The answer cannot be there yet: a read right after the write would find nothing.
    bool wait_first = !exchange.answer_begun && !connection.stream->has_buffered();
    while (!parser.is_done()) {
        char* const room = buffer.room();
        IoOutcome outcome{State::again};
        if (!wait_first) outcome = connection.stream->try_read(room, buffer.room_size());
        wait_first = false;
        if (outcome.state == State::moved) {
            exchange.answer_begun = true;
            buffer.filled(outcome.bytes);
            std::string why;
            if (!feed(parser, buffer, why)) {
                co_return fail(exchange, ErrorCode::UnknownOutcome, "read the answer: " + why);
            }
            if (buffer.full()) {
                co_return fail(exchange, ErrorCode::UnknownOutcome,
                               "read the answer: its header is too large");
            }
            continue;
        }
        if (outcome.state == State::end) {
            beast::error_code cut;
            // Not answer_begun: after an interim answer this parser has seen nothing yet, and
            // put_eof() asserts that it has.
            const bool begun = parser.got_some();
            if (begun) parser.put_eof(cut);
            if (begun && !cut) co_return;
        }
        if (outcome.state != State::again) {
            exchange.peer_gone = true;
            const bool ended = outcome.state == State::end;
            co_return fail(exchange, ErrorCode::UnknownOutcome,
                           "read the answer: " + (ended ? std::string("connection closed")
                                                        : connection.stream->last_failure()));
        }
        const Wake wake = co_await connection.stream->wait(Side::read, deadline);
        if (wake == Wake::timeout) {
            co_return fail(exchange, ErrorCode::UnknownOutcome,
                           "read the answer: none before the deadline");
        }
        if (wake == Wake::cancelled) {
            co_return fail(exchange, ErrorCode::UnknownOutcome, "read the answer: cancelled");
        }
    }
}

}  // namespace

aio::Task<Exchange> run_exchange(HttpConnection& connection, const HttpRequest& request,
                                 const std::string& host, std::size_t response_bytes_max,
                                 aio::Deadline deadline) {
    Exchange exchange;
    connection.outgoing.clear();
    append_request(request, host, connection.outgoing);
    const bool sent = co_await send_request(connection, exchange, deadline);
    if (!sent) co_return std::move(exchange);

    for (;;) {
        exchange.response = HttpResponse{};
        ResponseParser parser{exchange.response};
        parser.body_to(exchange.response.body, response_bytes_max);
        parser.skip(request.method == "HEAD");
        std::string why;
        if (!connection.buffer.empty() && !feed(parser, connection.buffer, why)) {
            fail(exchange, ErrorCode::UnknownOutcome, "read the answer: " + why);
            co_return std::move(exchange);
        }
        co_await read_response(connection, parser, exchange, deadline);
        if (exchange.failure) co_return std::move(exchange);
        if (exchange.response.status / 100 == 1) continue;  // an interim answer
        exchange.reusable = parser.keep_alive() && connection.buffer.empty() &&
                            exchange.bytes_sent == connection.outgoing.size();
        co_return std::move(exchange);
    }
}

}  // namespace gpuctl::net
