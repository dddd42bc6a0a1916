// Addresses that are accepted, with their parts, and addresses that are refused, with the message.

#include "text/url.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/url/parse.hpp>

#include "scheduler/base/ascii.hpp"

namespace gpuctl::text {
namespace {

struct Good {
    const char* text;
    Url url;
    const char* canonical;
};

TEST(Url, good_ones_are_taken_apart_and_written_in_one_way) {
    const std::string label(63, 'a');
    const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
    const std::string long_url = "http://" + longest;
    const Good table[] = {
        {"http://127.0.0.1:8000", {false, "127.0.0.1", 8000, ""}, "http://127.0.0.1:8000"},
        {"https://h", {true, "h", 443, ""}, "https://h"},
        {"http://h", {false, "h", 80, ""}, "http://h"},
        {"HTTP://H:1", {false, "h", 1, ""}, "http://h:1"},
        {"HttpS://Lab.Example:443", {true, "lab.example", 443, ""}, "https://lab.example"},
        {"http://h:443", {false, "h", 443, ""}, "http://h:443"},
        {"http://h:65535", {false, "h", 65'535, ""}, "http://h:65535"},
        {"http://h/", {false, "h", 80, ""}, "http://h"},
        {"http://h:8000//", {false, "h", 8000, ""}, "http://h:8000"},
        {"https://proxy/gpuctl", {true, "proxy", 443, "/gpuctl"}, "https://proxy/gpuctl"},
        {"https://proxy:8443/a/B/", {true, "proxy", 8443, "/a/B"}, "https://proxy:8443/a/B"},
        {"https://r/k8s/clusters/c-m-1%20x",
         {true, "r", 443, "/k8s/clusters/c-m-1%20x"},
         "https://r/k8s/clusters/c-m-1%20x"},
        {"http://h/a:b@c;d=e", {false, "h", 80, "/a:b@c;d=e"}, "http://h/a:b@c;d=e"},
        {"http://[::1]:8000", {false, "::1", 8000, ""}, "http://[::1]:8000"},
        {"http://[FD00::A]", {false, "fd00::a", 80, ""}, "http://[fd00::a]"},
        {"http://[fe80::1%25eth0]:8000",
         {false, "fe80::1%eth0", 8000, ""},
         "http://[fe80::1%eth0]:8000"},
        {"http://[fe80::1%eth0]", {false, "fe80::1%eth0", 80, ""}, "http://[fe80::1%eth0]"},
        {"http://[::ffff:10.0.0.1]:80",
         {false, "::ffff:10.0.0.1", 80, ""},
         "http://[::ffff:10.0.0.1]"},
        {"http://my_service:8000", {false, "my_service", 8000, ""}, "http://my_service:8000"},
        {"https://node-7.example.", {true, "node-7.example.", 443, ""}, "https://node-7.example."},
        {"https://xn--bcher-kva.example",
         {true, "xn--bcher-kva.example", 443, ""},
         "https://xn--bcher-kva.example"},
        {"http://1.example", {false, "1.example", 80, ""}, "http://1.example"},
        {"http://127.0.0.1x/a", {false, "127.0.0.1x", 80, "/a"}, "http://127.0.0.1x/a"},
        {long_url.c_str(), {false, longest, 80, ""}, long_url.c_str()},
    };
    for (const Good& row : table) {
        const Result<Url> url = parse_url(row.text);
        ASSERT_TRUE(url) << row.text << ": " << url.error().message;
        EXPECT_EQ(*url, row.url) << row.text;
        EXPECT_EQ(to_string(*url), row.canonical);
        EXPECT_EQ(parse_url(to_string(*url)).value(), *url) << row.text;
    }
}

struct Bad {
    std::string text;
    const char* why;
};

const Bad kBadUrls[] = {
    {"", "is empty"},
    {" http://h", "contains a space (character 1)"},
    {"http://h ", "contains a space (character 9)"},
    {"http://h h", "contains a space"},
    {"http://h\n", "contains U+000A LINE FEED (character 9)"},
    {"http://h\r\n", "contains U+000D CARRIAGE RETURN"},
    {"http://h\t", "U+0009 CHARACTER TABULATION"},
    {std::string{"http://h\0x", 10}, "contains U+0000 NULL (character 9)"},
    {"http://h\x7f", "U+007F DELETE"},
    {"http://h\u200b", "contains U+200B ZERO WIDTH SPACE (character 9)"},
    {"http://\u202eh", "U+202E RIGHT-TO-LEFT OVERRIDE"},
    {"\ufeffhttp://h", "U+FEFF ZERO WIDTH NO-BREAK SPACE (byte order mark) (character 1)"},
    {"http://h\u00a0", "U+00A0 NO-BREAK SPACE"},
    {"http://b\u00fccher.example", "contains a character beyond ASCII (character 9)"},
    {"http://\u0440aypal.example", "xn--"},  // a Cyrillic er
    {"http://h/\u00fc", "percent-encoded"},
    {"http://h\xff", "beyond ASCII"},
    {"h", "must begin with https:// or http://"},
    {"h:8000", "must begin with"},
    {"127.0.0.1:8000", "must begin with"},
    {"//h", "must begin with"},
    {"ftp://h", "must begin with"},
    {"http:/h", "must begin with"},
    {"http:h", "must begin with"},
    {"httpx://h", "must begin with"},
    {"unix:///var/run/x", "must begin with"},
    {"http://", "names no host"},
    {"http:///path", "names no host"},
    {"http://:8000", "names no host"},
    {"http://u@h", "has a user name before an @"},
    {"http://u:p@h", "has a user name before an @"},
    {"http://@h", "has a user name before an @"},
    {"http://a@b@h", "has a user name before an @"},
    {"http://h?a=b", "has a query"},
    {"http://h/p?", "has a query"},
    {"http://h#x", "has a fragment"},
    {"http://h/p#", "has a fragment"},
    {"http://h:", "has a colon without a port"},
    {"http://h:/p", "has a colon without a port"},
    {"http://h:0", "has port 0; ports go from 1 to 65535"},
    {"http://h:65536", "has port 65536; ports go from 1 to 65535"},
    {"http://h:73536", "has port 73536; ports go"},  // 8000 in sixteen bits
    {"http://h:4294967376", "has port 4294967376; ports go"},
    {"http://h:18446744073709551696", "has port 18446744073709551696; ports go"},
    {"http://h:" + std::string(300, '9'), "...; ports go from 1 to 65535"},
    {"http://h:08000", "has port 08000; write it without leading zeros"},
    {"http://h:00", "leading zeros"},
    {"http://h:-1", "has \"-1\" as port"},
    {"http://h:+80", "has \"+80\" as port"},
    {"http://h:80x", "has \"80x\" as port"},
    {"http://h:0x50", "has \"0x50\" as port"},
    {"http://h:80:90", "several colons"},
    {"http://::1", "several colons; write an IPv6 address in brackets: [::1]"},
    {"http://::1:8000", "several colons"},
    {"http://[::1", "has a [ without a ]"},
    {"http://[]", "is not an IPv6 address"},
    {"http://[h]", "is not an IPv6 address"},
    {"http://[127.0.0.1]", "is not an IPv6 address"},
    {"http://[::1]x", "after the ]"},
    {"http://[::1]8000", "after the ]"},
    {"http://[fe80::1%]", "IPv6 zone"},
    {"http://[fe80::1%a/b]", "without a ]"},
    {"http://[fe80::1%a%20b]", "IPv6 zone"},
    {"http://[12345::]", "is not an IPv6 address"},
    {"http://256.0.0.1", "is not an IPv4 address"},
    {"http://127.1", "is not an IPv4 address"},
    {"http://127.0.0.01", "is not an IPv4 address"},
    {"http://2130706433", "is not an IPv4 address"},
    {"http://0x7f000001", "is not an IPv4 address"},
    {"http://1.2.3.4.5", "is not an IPv4 address"},
    {"http://h..x", "has an empty part in its host"},
    {"http://.h", "has an empty part in its host"},
    {"http://.", "has an empty part in its host"},
    {"http://-h", "hyphen"},
    {"http://h-.x", "hyphen"},
    {"http://h%41", "a host is not percent-encoded"},
    {"http://h,x", "has a ',' in its host"},
    {"http://h\\x", "contains a backslash"},
    {"http://" + std::string(64, 'a'), "a part of 64 characters"},
    {"http://" + std::string(100, 'a') + "." + std::string(200, 'b'), "host of 301 characters"},
    {"http://h/" + std::string(3'000, 'p'), "has 3009 bytes; at most 2048 are allowed"},
    {"http://h/a//b", "an empty part in its path"},
    {"http://h//b", "an empty part in its path"},
    {"http://h/../x", "has a \"..\" in its path"},
    {"http://h/a/.", "has a \".\" in its path"},
    {"http://h/%2e%2E/x", "has a \"..\" in its path"},
    {"http://h/.%2e", "has a \"..\" in its path"},
    {"http://h/%", "has a % in its path"},
    {"http://h/%2", "has a % in its path"},
    {"http://h/%zz", "has a % in its path"},
    {"http://h/<x>", "has a '<' in its path"},
    {"http://h/\"x", "has a '\"' in its path"},
};

TEST(Url, bad_ones_are_refused_with_what_is_wrong) {
    for (const Bad& row : kBadUrls) {
        const Result<Url> url = parse_url(row.text);
        ASSERT_FALSE(url) << row.text;
        EXPECT_NE(url.error().message.find(row.why), std::string::npos)
            << row.text << "\n  says: " << url.error().message << "\n  not:  " << row.why;
        EXPECT_LT(url.error().message.size(), 400u) << row.text;
    }
}

TEST(Url, a_secret_before_the_host_is_in_no_message) {
    for (const char* text :
         {"http://me:s3cret@h", "https://s3cret@h:99999/x", "http://a:s3cret@b:s3cret@h?q",
          "me:s3cret@h:80", "http://me:s3cret@h/p@q"}) {
        const Result<Url> url = parse_url(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error().message.find("s3cret"), std::string::npos) << url.error().message;
        EXPECT_EQ(shown_address(text).find("s3cret"), std::string::npos) << shown_address(text);
    }
    EXPECT_EQ(shown_address("http://me:pw@h/p@q"), "http://...@h/p@q");
    EXPECT_EQ(shown_address("http://h/p@q"), "http://h/p@q");
    EXPECT_EQ(shown_address("http://h\n"), "http://h ");
    EXPECT_EQ(shown_address(std::string(200, 'x')), std::string(100, 'x') + "...");
}

TEST(HostPort, of_an_address_to_listen_on) {
    const auto read = [](std::string_view text) -> std::string {
        const Result<HostPort> parsed = parse_host_port(text);
        if (!parsed) return parsed.error().message;
        return parsed->host + "|" + (parsed->port ? std::to_string(*parsed->port) : "-");
    };
    EXPECT_EQ(read("127.0.0.1:8000"), "127.0.0.1|8000");
    EXPECT_EQ(read(":8000"), "|8000");
    EXPECT_EQ(read(":0"), "|0");
    EXPECT_EQ(read("[::1]:8000"), "::1|8000");
    EXPECT_EQ(read("[fe80::1%eth0]:1"), "fe80::1%eth0|1");
    EXPECT_EQ(read("LocalHost"), "localhost|-");
    EXPECT_EQ(read("h:65536"), "has port 65536; ports go from 0 to 65535");
    EXPECT_EQ(read("h:4294967376"), "has port 4294967376; ports go from 0 to 65535");
    EXPECT_EQ(read("h:00"), "has port 00; write it without leading zeros");
    EXPECT_EQ(read("h:"), "has a colon without a port after it");
    EXPECT_EQ(read(""), "is empty");
    EXPECT_EQ(read("h: 80"), "contains a space (character 3)");
    EXPECT_NE(read("::1:8000").find("several colons"), std::string::npos);
    EXPECT_NE(read("http://h:80").find("begins with a scheme"), std::string::npos);
    EXPECT_NE(read("::1").find("[::1]"), std::string::npos);
}

TEST(Host, is_parsed_with_or_without_brackets) {
    EXPECT_EQ(parse_host("fd00::1").value(), "fd00::1");
    EXPECT_EQ(parse_host("[fd00::1]").value(), "fd00::1");
    EXPECT_EQ(parse_host("FE80::1%eth0").value(), "fe80::1%eth0");
    EXPECT_EQ(parse_host("10.0.0.1").value(), "10.0.0.1");
    EXPECT_EQ(parse_host("Kubernetes.Default.svc").value(), "kubernetes.default.svc");
    for (const char* bad : {"", "h:80", "[::1]:80", "h/p", "http://h", "10.0.0", "a b", "h\n"}) {
        EXPECT_FALSE(parse_host(bad)) << bad;
    }
}

TEST(Host, is_written_for_people_headers_and_certificates) {
    EXPECT_EQ(host_port("::1", 80), "[::1]:80");
    EXPECT_EQ(host_port("h", 8000), "h:8000");
    EXPECT_EQ(host_header("h", 443, true), "h");
    EXPECT_EQ(host_header("h", 443, false), "h:443");
    EXPECT_EQ(host_header("h", 80, false), "h");
    EXPECT_EQ(host_header("fe80::1%eth0", 8000, false), "[fe80::1]:8000");
    EXPECT_EQ(certificate_name("fe80::1%eth0"), "fe80::1");
    EXPECT_EQ(certificate_name("lab.example."), "lab.example");
}

TEST(Host, loopback_is_known_in_all_its_forms) {
    for (const char* yes :
         {"localhost", "127.0.0.1", "127.3.2.1", "::1", "[::1]", "::ffff:127.0.0.1"}) {
        EXPECT_EQ(is_loopback(yes), true) << yes;
    }
    for (const char* no : {"0.0.0.0", "10.0.0.1", "::", "fe80::1%eth0", "128.0.0.1"}) {
        EXPECT_EQ(is_loopback(no), false) << no;
    }
    for (const char* none : {"", "example.org", "127.1", "0x7f.1", "localhost.", "127.0.0.1 "}) {
        EXPECT_EQ(is_loopback(none), std::nullopt) << none;
    }
}

// Every address accepted here is accepted by Boost.URL, with the same parts.
//
// The zone of an IPv6 host, "%25a" (RFC 6874), is taken out of the text: Boost.URL 1.81 refuses it.
std::string without_zone(std::string text) {
    if (const auto at = text.find("%25a]"); at != text.npos) text.erase(at, 4);
    return text;
}

RC_GTEST_PROP(UrlProperty, an_accepted_url_is_read_alike_by_another_parser, ()) {
    const auto piece = rc::gen::element<std::string>(
        "http://", "https://", "HTTP://", "h", "lab.example", "127.0.0.1", "[::1]", "[fe80::1%25a]",
        ":", "8000", "65535", "65536", "0", "/", "/gpuctl", "/a%20b", "..", "@", "?", "#", "%", "_",
        "-", "x", " ", ".", "a:b");
    std::string text;
    for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) {
        text += part;
    }
    const bool has_scheme = *rc::gen::inRange(0, 4) > 0;
    if (has_scheme) text.insert(0, "http://");
    const Result<Url> ours = parse_url(text);
    if (!ours) return;
    // A host that only begins like an address, "127.0.0.1x", is a name (RFC 3986, 3.2.2). Boost.URL
    // 1.81 reads the address and makes the rest the path.
    constexpr std::string_view kAddress = "127.0.0.1";
    if (ours->host.starts_with(kAddress) && ours->host != kAddress) return;
    const std::string shown = without_zone(text);
    const auto theirs = boost::urls::parse_uri(shown);
    RC_ASSERT(theirs.has_value());
    const bool has_zone = shown != text;
    const std::string host = lower_case(std::string{theirs->host_address()});
    RC_ASSERT(host + (has_zone ? "%a" : "") == ours->host);
    const unsigned port = theirs->has_port() ? theirs->port_number() : ours->is_https ? 443 : 80;
    RC_ASSERT(port == ours->port);
    std::string path{theirs->encoded_path()};
    while (path.ends_with('/')) path.pop_back();
    RC_ASSERT(path == ours->base_path);
    RC_ASSERT(!theirs->has_userinfo() && !theirs->has_query() && !theirs->has_fragment());
}

}  // namespace
}  // namespace gpuctl::text
