#include "net/http/http_guard.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace gpuctl::net {
namespace {

using std::literals::operator""s;

std::string header(const std::string& fields, const std::string& version = "HTTP/1.1") {
    return "POST /jobs " + version + "\r\nHost: a\r\n" + fields + "\r\n";
}

int status_of(const std::string& block) {
    const HeaderScan scan = scan_header(block, 0);
    if (scan.state == HeaderScan::State::malformed) return 400;
    EXPECT_EQ(scan.state, HeaderScan::State::complete) << block;
    EXPECT_EQ(scan.bytes, block.size());
    const auto refusal = guard_header(block, GuardLimits{8u << 10});
    return refusal ? refusal->status : 200;
}

TEST(HttpGuard, ordinary_requests_pass) {
    EXPECT_EQ(status_of(header("")), 200);
    EXPECT_EQ(status_of(header("Content-Length: 5\r\n")), 200);
    EXPECT_EQ(status_of(header("content-length:5\r\n")), 200);
    EXPECT_EQ(status_of(header("Transfer-Encoding: chunked\r\n")), 200);
    EXPECT_EQ(status_of(header("Transfer-Encoding: Chunked\r\n")), 200);
    EXPECT_EQ(status_of(header("Expect: 100-continue\r\nX-Empty:\r\n")), 200);
    EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
    EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n"), 200);
    EXPECT_EQ(status_of("GET /a HTTP/1.1\r\nHost: a\r\nX-Name: J\xc3\xbcrgen\r\n\r\n"), 200);
}

TEST(HttpGuard, both_lengths_are_refused) {
    EXPECT_EQ(status_of(header("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400);
    EXPECT_EQ(status_of(header("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400);
}

TEST(HttpGuard, an_encoding_that_does_not_end_in_chunked_is_refused) {
    for (const char* value : {"identity", "chunked, identity", "xchunked", "chunked,",
                              "\"chunked\"", "chunked;a=b", "chunke", "", ","}) {
        EXPECT_EQ(status_of(header(std::string("Transfer-Encoding: ") + value + "\r\n")), 400)
            << value;
    }
    EXPECT_EQ(status_of(header("Transfer-Encoding: gzip, chunked\r\n")), 501);
    EXPECT_EQ(status_of(header("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")),
              400);
}

TEST(HttpGuard, chunked_in_http_1_0_is_refused) {
    EXPECT_EQ(status_of(header("Transfer-Encoding: chunked\r\n", "HTTP/1.0")), 400);
}

TEST(HttpGuard, repeated_or_odd_lengths_are_refused) {
    EXPECT_EQ(status_of(header("Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
    for (const char* value :
         {"5, 5", "+5", "-5", "0x5", "5 ", "", "5 5", "1e3", "99999999999999999999"}) {
        const bool only_padding = std::string(value) == "5 ";
        EXPECT_EQ(status_of(header(std::string("Content-Length: ") + value + "\r\n")),
                  only_padding ? 200 : 400)
            << value;
    }
}

TEST(HttpGuard, repeated_missing_or_odd_hosts_are_refused) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
}

TEST(HttpGuard, bare_line_ends_nul_and_folding_are_refused) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX: 1\rContent-Length: 5\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\n\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX: "s + '\0' + "\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400);
}

TEST(HttpGuard, blanks_around_a_field_name_are_refused) {
    EXPECT_EQ(status_of(header("Transfer-Encoding : chunked\r\n")), 400);
    EXPECT_EQ(status_of(header("Transfer-Encoding\t: chunked\r\n")), 400);
    EXPECT_EQ(status_of(header(": empty\r\n")), 400);
    EXPECT_EQ(status_of(header("no colon\r\n")), 400);
    EXPECT_EQ(status_of(header("X: a\x7f\r\n")), 400);
}

TEST(HttpGuard, odd_request_lines_are_refused) {
    EXPECT_EQ(status_of("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("G\"ET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
    EXPECT_EQ(status_of("GET / http/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("\r\n\r\n"), 400);
}

TEST(HttpGuard, limits_hold) {
    EXPECT_EQ(status_of("GET /" + std::string(8191, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    EXPECT_EQ(status_of("GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
    std::string many;
    for (int i = 0; i < 99; ++i) many += "X: 1\r\n";
    EXPECT_EQ(status_of(header(many)), 200);
    EXPECT_EQ(status_of(header(many + "X: 1\r\n")), 431);
    EXPECT_EQ(status_of(header("Expect: 200-ok\r\n")), 417);
}

RC_GTEST_PROP(HttpGuard, the_end_is_found_in_whatever_pieces_the_header_arrives, ()) {
    const std::string block = header("Content-Length: 5\r\nX-Y: z\r\n");
    const std::string bytes = block + "hello";
    std::size_t scanned = 0;
    std::size_t have = 0;
    while (have < bytes.size()) {
        have += static_cast<std::size_t>(
            *rc::gen::inRange<int>(1, static_cast<int>(bytes.size() - have) + 1));
        const HeaderScan scan = scan_header(std::string_view(bytes).substr(0, have), scanned);
        RC_ASSERT(scan.state != HeaderScan::State::malformed);
        RC_ASSERT((scan.state == HeaderScan::State::complete) == (have >= block.size()));
        if (scan.state == HeaderScan::State::complete) {
            RC_ASSERT(scan.bytes == block.size());
            return;
        }
        scanned = have;
    }
}

RC_GTEST_PROP(HttpGuard, any_bytes_get_an_answer_and_what_passes_is_framed_once,
              (std::string noise)) {
    const std::string block = header(noise + "\r\n");
    const HeaderScan scan = scan_header(block, 0);
    if (scan.state != HeaderScan::State::complete) return;
    const std::string seen = block.substr(0, scan.bytes);
    if (guard_header(seen, GuardLimits{8u << 10})) return;
    RC_ASSERT(seen.find('\0') == std::string::npos);
    RC_ASSERT(seen.find("\n\n") == std::string::npos);
}

}  // namespace
}  // namespace gpuctl::net
