#pragma once
// The pure part of the client: maps a transport failure or an answer to the result of a call, and
// computes the wait before a retry.

#include <optional>

#include "k8s/client/client.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

bool is_read(std::string_view method);

// "GET /api/v1/pods": the name of a call in messages, without its query.
std::string describe(const ApiCall& call);

// A failure in net/: no answer came. For a write it is UnknownOutcome unless the request was
// certainly not processed.
ApiError from_transport(const ApiCall& call, const Error& error);

// nullopt: the answer is a success.
std::optional<ApiError> from_answer(const ApiCall& call, const net::HttpResponse& answer);

// Adds to an error answer the target of its redirect, if it has one.
ApiError with_redirect(ApiError error, int status, const net::HttpFields& fields);

// Whether the same call may be sent again after this failure.
bool may_repeat(const ApiCall& call, const ApiError& error);

// The headers of every request with these credentials.
net::HttpFields common_fields(const ClusterAccess& access, const std::string& user_agent,
                              const std::string& authorization);

}  // namespace gpuctl::k8s
