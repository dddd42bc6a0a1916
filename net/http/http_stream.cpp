// HttpClient::open_stream: an answer read piece by piece on a connection of its own.

#include <utility>

#include "net/http/http_client.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/http_parser.hpp"
#include "net/http/http_pool.hpp"
#include "net/http/http_text.hpp"

namespace gpuctl::net {

namespace {

using State = IoOutcome::State;

constexpr std::size_t kErrorBodyBytesMax = 256u << 10;
// One read_some() returns at most what one read brought, so this does not bound stored bytes.
constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

enum class Step : std::uint8_t { more, done, timeout, cancelled, failed };

class ResponseStream final : public HttpClient::Stream {
public:
    explicit ResponseStream(std::unique_ptr<HttpConnection> connection)
        : connection_(std::move(connection)), parser_(std::make_unique<ResponseParser>(answer_)) {
        parser_->body_to(pending_, kUnbounded);
    }

    [[nodiscard]] int status() const override { return answer_.status; }
    [[nodiscard]] const HttpFields& fields() const override { return answer_.fields; }
    [[nodiscard]] const std::string& error_body() const override { return error_body_; }

    aio::Task<Result<bool>> read_some(std::string& out, aio::Deadline deadline) override {
        const std::size_t before = out.size();
        out.append(pending_);
        pending_.clear();
        parser_->body_to(out, kUnbounded);
        Step step = Step::more;
        while (out.size() == before && step == Step::more) step = co_await read_once(deadline);
        parser_->body_to(pending_, kUnbounded);
        if (out.size() > before) co_return true;
        if (step == Step::done) co_return false;
        co_return error_of(step);
    }

    // Sends the request and reads until the header is in; for an error status its body too.
    aio::Task<Result<void>> open(HttpRequest request, std::string host, aio::Deadline deadline) {
        append_request(request, host, connection_->outgoing);
        std::size_t sent = 0;
        const Result<void> written =
            co_await connection_->stream->write_all(connection_->outgoing, sent, deadline);
        if (!written) co_return written.error();
        while (!parser_->is_header_done() || answer_.status / 100 == 1) {
            if (parser_->is_header_done()) expect_next_answer();
            const Step step = co_await read_once(deadline);
            if (step != Step::more && !parser_->is_header_done()) co_return error_of(step);
        }
        if (answer_.status < 400) co_return Result<void>{};

        Step step = Step::more;
        while (step == Step::more && pending_.size() < kErrorBodyBytesMax) {
            step = co_await read_once(deadline);
        }
        error_body_ = pending_.substr(0, kErrorBodyBytesMax);
        pending_.clear();
        connection_->stream->close();
        co_return Result<void>{};
    }

private:
    // After an interim answer (100 Continue).
    void expect_next_answer() {
        answer_ = HttpResponse{};
        parser_ = std::make_unique<ResponseParser>(answer_);
        parser_->body_to(pending_, kUnbounded);
        feed_it_ = true;
    }

    // Parses buffered bytes or, if there are none, reads once. A timeout leaves everything
    // unchanged.
    aio::Task<Step> read_once(aio::Deadline deadline) {
        if (parser_->is_done()) co_return Step::done;
        if (broken_) co_return Step::failed;
        ReadBuffer& buffer = connection_->buffer;
        if (feed_it_) {
            feed_it_ = false;
            if (!buffer.empty()) co_return parse();
        }
        char* const room = buffer.room();
        const IoOutcome outcome = connection_->stream->try_read(room, buffer.room_size());
        if (outcome.state == State::moved) {
            buffer.filled(outcome.bytes);
            co_return parse();
        }
        if (outcome.state == State::end) co_return ended();
        if (outcome.state == State::failed) {
            why_ = connection_->stream->last_failure();
            co_return Step::failed;
        }
        const Wake wake = co_await connection_->stream->wait(Side::read, deadline);
        if (wake == Wake::timeout) co_return Step::timeout;
        if (wake == Wake::cancelled) co_return Step::cancelled;
        co_return Step::more;
    }

    Step parse() {
        // Good bytes before the bad bytes are returned first, so the failure is remembered.
        broken_ = !feed(*parser_, connection_->buffer, why_);
        if (broken_) return Step::failed;
        if (connection_->buffer.full()) {
            why_ = "a header or chunk line is too long";
            return Step::failed;
        }
        return Step::more;
    }

    Step ended() {
        beast::error_code cut;
        const bool begun = parser_->got_some();  // put_eof() asserts it
        if (begun) parser_->put_eof(cut);
        if (begun && !cut && parser_->is_done()) return Step::done;
        why_ = "cut by the peer";
        return Step::failed;
    }

    [[nodiscard]] Error error_of(Step step) const {
        switch (step) {
            case Step::timeout:
                return make_error(ErrorCode::Timeout,
                                  "read the stream: no data before the deadline");
            case Step::cancelled:
                return make_error(ErrorCode::Cancelled, "read the stream: cancelled");
            case Step::more:
            case Step::done:
            case Step::failed:
                break;
        }
        return make_error(ErrorCode::Unreachable,
                          "read the stream: " + (why_.empty() ? "ended early" : why_));
    }

    std::unique_ptr<HttpConnection> connection_;
    HttpResponse answer_;
    std::unique_ptr<ResponseParser> parser_;
    std::string pending_;  // decoded, not handed out yet
    std::string error_body_;
    std::string why_;
    bool broken_ = false;   // the bytes are not HTTP: nothing after them can be understood
    bool feed_it_ = false;  // the buffer holds bytes that no parser has seen
};

}  // namespace

aio::Task<Result<std::unique_ptr<HttpClient::Stream>>> open_stream_on(
    std::shared_ptr<HttpPool> pool, HttpRequest request, aio::Deadline deadline) {
    const std::string doing = request.method + " " + request.target;
    if (const auto sendable = check_sendable(request); !sendable) co_return sendable.error();
    Result<std::unique_ptr<HttpConnection>> connection = co_await pool->connect(deadline);
    if (!connection) co_return while_doing(doing, connection.error());
    auto stream = std::make_unique<ResponseStream>(std::move(*connection));
    const Result<void> open = co_await stream->open(std::move(request), pool->host(), deadline);
    if (!open) co_return while_doing(doing, open.error());
    std::unique_ptr<HttpClient::Stream> opened = std::move(stream);
    co_return std::move(opened);
}

}  // namespace gpuctl::net
