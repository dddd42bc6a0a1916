#pragma once
// Addresses as text: URLs of servers, hosts, ports, HOST:PORT to listen on. The one
// parser of them: command line, configuration files, environment, Host and Origin headers.
//
// It accepts less than RFC 3986 allows: no user name (a password would end up in logs), no query
// and no fragment, only ports from 1 to 65535, only unambiguous hosts (not 127.1, not 0x7f000001,
// no letters beyond ASCII). An error is the rest of a sentence whose subject is the caller's: "has
// port 65536; ports go from 1 to 65535".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::text {

// http://HOST[:PORT][/PATH] or https://...
struct Url {
    bool is_https = true;
    std::string host;  // lower case; IPv6 without brackets, with its zone (fe80::1%eth0)
    std::uint16_t port = 443;
    std::string base_path;  // "" or "/prefix", before the path of every request
    friend bool operator==(const Url&, const Url&) = default;
};
// Default port: that of the scheme, 80 or 443. Trailing slashes of the path are ignored.
Result<Url> parse_url(std::string_view text);
// As parse_url() reads it back; the scheme's own port is left out.
std::string to_string(const Url& url);
// The address for a message: short, printable, without the user part before an @.
std::string shown_address(std::string_view text);

// A name, an IPv4 address, or an IPv6 address with or without brackets; lower case, no brackets.
Result<std::string> parse_host(std::string_view text);
Result<std::uint16_t> parse_port(std::string_view text, std::uint16_t least = 1);

struct HostPort {
    std::string host;  // as Url::host; empty where only :PORT was written
    std::optional<std::uint16_t> port;
};
// HOST, HOST:PORT or :PORT with IPv6 in brackets; port 0: the system chooses one.
Result<HostPort> parse_host_port(std::string_view text);

// HOST:PORT for people, with brackets around IPv6.
std::string host_port(const std::string& host, std::uint16_t port);
// The value of a Host header: brackets, no zone (it means nothing to the peer), and no port if it
// is the scheme's default.
std::string host_header(const std::string& host, std::uint16_t port, bool is_https);
// The name to verify in the server's certificate: without the zone and the trailing dot.
std::string certificate_name(const std::string& host);

// nullopt: not an IP address. "localhost" is one, too.
std::optional<bool> is_loopback(const std::string& host);

}  // namespace gpuctl::text
