#pragma once
// An error answer of the API server: a metav1.Status, or the answer of a proxy. Code branches on
// `code` (ours) and `reason` (Kubernetes'), never on the text.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

struct StatusCause {
    std::string reason;  // e.g. ResourceVersionTooLarge, FieldValueInvalid
    std::string message;
    std::string field;
};

// The decoded wire form, without interpretation.
struct ApiStatus {
    int code = 0;  // the body's, else the HTTP status
    bool success = false;
    std::string reason;  // Conflict, AlreadyExists, NotFound, Expired, Invalid ...; may be empty
    std::string message;
    std::vector<StatusCause> causes;
    std::optional<std::chrono::seconds> retry_after;
};

// A refusal or failure of one call, in our codes, with the server's message.
//   Conflict      409; reason says Conflict or AlreadyExists
//   Gone          410 and reason Expired: the resource version is no longer known
//   ValidationFailed 422, BadRequest 400, NotFound 404, Forbidden 403, Unauthorized 401,
//   TooManyRequests 429, ClusterUnavailable 5xx of a read
//   UnknownOutcome   a write was sent and its outcome is not known: 5xx, cut connection, deadline
//   Unreachable, TlsFailed, Timeout, Cancelled: certainly not processed
//   NotLeader     the write fence was closed when the write was about to be sent
struct ApiError : Error {
    int http_status = 0;  // 0: no answer
    std::string reason;
    std::vector<StatusCause> causes;
    std::optional<std::chrono::seconds> retry_after;

    [[nodiscard]] bool has_cause(std::string_view cause_reason) const;
    // 403 as well, although no right is missing: the namespace is terminating, and nothing can be
    // created in it.
    [[nodiscard]] bool is_namespace_terminating() const {
        return has_cause("NamespaceTerminating");
    }
};

template <typename T>
using ApiResult = boost::system::result<T, ApiError>;

[[noreturn]] inline void throw_exception_from_error(const ApiError& error,
                                                    const boost::source_location&) {
    throw std::logic_error("value() of a failed ApiResult: " + error.message);
}

ApiError make_api_error(ErrorCode code, std::string message);

// `retry_after_field`: the response's Retry-After, "" when absent. A body that is not a Status
// gives the HTTP status with a shortened, printable piece of the body as message.
ApiStatus parse_status(int http_status, std::string_view body, std::string_view retry_after_field);

// True when a 2xx body is a Status of Failure, which the API machinery allows. Parses the first
// members only.
bool is_failure_status(std::string_view body);

// `write`: a 5xx then means that the outcome is unknown.
ApiError to_error(const ApiStatus& status, bool write, std::string_view what);

}  // namespace gpuctl::k8s
