#pragma once
// Messages as bytes to send. Private to net/.

#include <string>
#include <string_view>

#include "net/http/http_types.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::net {

// BadRequest for a request line or field that would break the framing.
Result<void> check_sendable(const HttpRequest& request);

// Appends the whole request, body included, with Host, User-Agent and Content-Length as needed.
void append_request(const HttpRequest& request, std::string_view host, std::string& out);

struct ResponseText {
    bool head = false;   // answer to HEAD: length but no body
    bool close = false;  // says Connection: close
};
// Appends the whole response with Date, Server and Content-Length. Bytes in a field that would
// break the framing become spaces.
void append_response(const HttpResponse& response, ResponseText how, std::string& out);

}  // namespace gpuctl::net
