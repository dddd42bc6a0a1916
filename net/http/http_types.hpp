#pragma once
// HTTP messages as plain values. No Beast type appears in any header of net/.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctl::net {

// Field names compare without case; order and repeats are kept.
class HttpFields {
public:
    void set(std::string name, std::string value);  // replaces an earlier value
    void add(std::string name, std::string value);
    [[nodiscard]] std::string_view get(std::string_view name) const;  // "" when absent
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const {
        return fields_;
    }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
    std::string method = "GET";
    std::string target = "/";  // path and query, percent-encoded
    HttpFields fields;
    std::string body;
    std::string remote;  // server side: address of the peer
};

struct HttpResponse {
    int status = 200;
    HttpFields fields;
    std::string body;
};

// Where a redirect points, as a message may show it; "" for any other answer. No client here
// follows it: what a request carries (first of all a token) is for the server that was configured.
std::string redirect_target(int status, std::string_view location);

// Percent-decoding and splitting of a request target.
struct Target {
    std::vector<std::string> segments;                       // decoded path segments
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    bool malformed = false;
    [[nodiscard]] std::string_view query_value(std::string_view name) const;  // "" when absent
    [[nodiscard]] bool has_query(std::string_view name) const;
};
Target parse_target(std::string_view target);
std::string percent_encode(std::string_view text);

}  // namespace gpuctl::net
