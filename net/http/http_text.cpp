#include "net/http/http_text.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <ctime>

namespace gpuctl::net {

namespace {

bool is_token_char(char c) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_field_char(char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

void append_number(std::size_t number, std::string& out) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_field(std::string_view name, std::string_view value, std::string& out) {
    out.append(name);
    out.append(": ");
    out.append(value);
    out.append("\r\n");
}

void append_length(std::size_t length, std::string& out) {
    out.append("Content-Length: ");
    append_number(length, out);
    out.append("\r\n");
}

// Fields that frame a message are written by this file only.
bool is_framing(std::string_view name) {
    constexpr std::array<std::string_view, 5> ours{"content-length", "transfer-encoding",
                                                   "connection", "date", "server"};
    return std::any_of(ours.begin(), ours.end(), [&](std::string_view one) {
        return one.size() == name.size() &&
               std::equal(name.begin(), name.end(), one.begin(), [](char c, char lower) {
                   return (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) == lower;
               });
    });
}

// Formatted once a second. The loop thread is the only caller.
const std::string& http_date() {
    static std::time_t at = 0;
    static std::string text;
    const std::time_t now = std::time(nullptr);
    if (now != at) {
        at = now;
        std::tm utc{};
        ::gmtime_r(&now, &utc);
        std::array<char, 40> buffer{};
        const std::size_t size =
            std::strftime(buffer.data(), buffer.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
        text.assign(buffer.data(), size);
    }
    return text;
}

}  // namespace

Result<void> check_sendable(const HttpRequest& request) {
    if (!is_token(request.method)) {
        return make_error(ErrorCode::BadRequest,
                          "send a request: method '" + request.method + "' is not a token");
    }
    const bool target_clean = std::all_of(request.target.begin(), request.target.end(),
                                          [](char c) { return c > ' ' && c < 0x7f; });
    if (request.target.empty() || !target_clean) {
        return make_error(ErrorCode::BadRequest,
                          "send a request: the target holds a byte that must be percent-encoded");
    }
    for (const auto& [name, value] : request.fields.all()) {
        if (!is_token(name) || !std::all_of(value.begin(), value.end(), is_field_char)) {
            return make_error(ErrorCode::BadRequest,
                              "send a request: field '" + name + "' cannot be sent as it is");
        }
    }
    return {};
}

void append_request(const HttpRequest& request, std::string_view host, std::string& out) {
    out.append(request.method);
    out.push_back(' ');
    out.append(request.target);
    out.append(" HTTP/1.1\r\n");
    if (!request.fields.has("Host")) append_field("Host", host, out);
    if (!request.fields.has("User-Agent"))
        append_field("User-Agent", "gpuctl/" GPUCTL_VERSION, out);
    for (const auto& [name, value] : request.fields.all()) append_field(name, value, out);
    const bool may_have_body = request.method != "GET" && request.method != "HEAD";
    if ((may_have_body || !request.body.empty()) && !request.fields.has("Content-Length")) {
        append_length(request.body.size(), out);
    }
    out.append("\r\n");
    out.append(request.body);
}

void append_response(const HttpResponse& response, ResponseText how, std::string& out) {
    const auto reason = boost::beast::http::obsolete_reason(
        static_cast<boost::beast::http::status>(response.status));
    out.append("HTTP/1.1 ");
    append_number(static_cast<std::size_t>(response.status), out);
    out.push_back(' ');
    out.append(reason.data(), reason.size());
    out.append("\r\n");
    append_field("Date", http_date(), out);
    append_field("Server", "gpuctld", out);
    for (const auto& [name, value] : response.fields.all()) {
        if (is_framing(name)) continue;
        const std::size_t at = out.size();
        out.append(name);
        out.append(": ");
        out.append(value);
        std::replace_if(
            out.begin() + static_cast<std::ptrdiff_t>(at), out.end(),
            [](char c) { return !is_field_char(c); }, ' ');
        out.append("\r\n");
    }
    const bool bodiless =
        response.status == 204 || response.status == 304 || response.status / 100 == 1;
    if (!bodiless) append_length(response.body.size(), out);
    if (how.close) append_field("Connection", "close", out);
    out.append("\r\n");
    if (!bodiless && !how.head) out.append(response.body);
}

}  // namespace gpuctl::net
