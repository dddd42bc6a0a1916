// Beast asserts on some calls that hostile bytes could provoke; with any bytes in any pieces, our
// use of it gives an answer.

#include "net/http/http_parser.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "net/http/http_guard.hpp"

namespace gpuctl::net {
namespace {

const std::vector<std::string> kPieces{
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 204\r\n",
    "POST /jobs HTTP/1.1\r\n",
    "GET / HTTP/1.0\r\n",
    "Host: a\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Connection: upgrade, close\r\n",
    "Upgrade: websocket\r\n",
    "X: y\r\n folded\r\n",
    "\r\n",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "0\r\nTrailer: x\r\n\r\n",
    "ffffffffffffffff\r\n",
    "abc",
    "\n",
    "\r",
    std::string(1, '\0'),
    ":",
    " ",
};

rc::Gen<std::string> hostile_bytes() {
    const auto piece = rc::gen::oneOf(rc::gen::elementOf(kPieces), rc::gen::elementOf(kPieces),
                                      rc::gen::arbitrary<std::string>());
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                        [](const std::vector<std::string>& pieces) {
                            std::string bytes;
                            for (const std::string& one : pieces) bytes += one;
                            return bytes;
                        });
}

// Feeds `bytes` to the parser in pieces, as a connection would; false at the first error.
template <typename Parser>
bool feed_in_pieces(Parser& parser, ReadBuffer& buffer, std::string_view bytes) {
    std::string why;
    while (!bytes.empty() && !parser.is_done() && !buffer.full()) {
        char* const room = buffer.room();
        const std::size_t most = std::min(bytes.size(), buffer.room_size());
        const auto size =
            static_cast<std::size_t>(*rc::gen::inRange<int>(1, static_cast<int>(most) + 1));
        std::memcpy(room, bytes.data(), size);
        buffer.filled(size);
        bytes.remove_prefix(size);
        if (!feed(parser, buffer, why)) return false;
    }
    return true;
}

RC_GTEST_PROP(HttpParser, any_answer_in_any_pieces_is_parsed_or_refused, ()) {
    const std::string bytes = *hostile_bytes();
    HttpResponse response;
    ResponseParser parser{response};
    parser.body_to(response.body, 100);
    ReadBuffer buffer{4096};
    const bool good = feed_in_pieces(parser, buffer, bytes);
    RC_ASSERT(response.body.size() <= 100u);
    if (good && !parser.is_done() && parser.got_some()) {
        beast::error_code cut;
        parser.put_eof(cut);
        RC_ASSERT(cut || parser.is_done());
    }
}

RC_GTEST_PROP(HttpParser, any_request_that_passes_the_guard_is_parsed_or_refused, ()) {
    const std::string bytes = "POST /jobs HTTP/1.1\r\nHost: a\r\n" + *hostile_bytes();
    const HeaderScan scan = scan_header(bytes, 0);
    if (scan.state != HeaderScan::State::complete) return;
    if (guard_header(std::string_view(bytes).substr(0, scan.bytes), GuardLimits{8192})) return;
    HttpRequest request;
    RequestParser parser{request, 16u << 10};
    ReadBuffer buffer{32u << 10};
    std::memcpy(buffer.room(), bytes.data(), scan.bytes);
    buffer.filled(scan.bytes);
    std::string why;
    RC_ASSERT(feed(parser, buffer, why));
    RC_ASSERT(parser.is_header_done());
    RC_ASSERT(buffer.empty());
    // The two readings of the framing agree.
    RC_ASSERT(!(parser.chunked() && parser.content_length().has_value()));
    const std::size_t fields = request.fields.all().size();
    parser.body_to(request.body, 100);
    parser.eager(true);
    feed_in_pieces(parser, buffer, std::string_view(bytes).substr(scan.bytes));
    RC_ASSERT(request.body.size() <= 100u);
    RC_ASSERT(request.fields.all().size() == fields);
}

TEST(HttpParser, a_value_that_looks_like_framing_is_only_a_value) {
    HttpResponse response;
    ResponseParser parser{response};
    parser.body_to(response.body, 100);
    ReadBuffer buffer{4096};
    const std::string bytes =
        "HTTP/1.1 200 OK\r\nX-A: Content-Length: 5\r\nContent-Length: 2\r\n\r\nok";
    std::memcpy(buffer.room(), bytes.data(), bytes.size());
    buffer.filled(bytes.size());
    std::string why;
    EXPECT_TRUE(feed(parser, buffer, why));
    EXPECT_TRUE(parser.is_done());
    EXPECT_EQ(response.body, "ok");
}

}  // namespace
}  // namespace gpuctl::net
