#pragma once
// The pure half of the client: what a transport failure or an answer means for a call, and how long
// to wait before the next sending.

#include <optional>

#include "daemon/net/http_types.hpp"
#include "k8s/client.hpp"

namespace gpuctl::k8s {

bool is_read(std::string_view method);

// "GET /api/v1/pods": how a call is named in messages, without its query.
std::string describe(const ApiCall& call);

// A failure of net/: no answer came. For a write it is UnknownOutcome unless the request was
// certainly not processed.
ApiError from_transport(const ApiCall& call, const Error& error);

// nullopt: the answer is a success.
std::optional<ApiError> from_answer(const ApiCall& call, const net::HttpResponse& answer);

// Says of an answer that is no success where it pointed to, if it did.
ApiError with_redirect(ApiError error, int status, const net::HttpFields& fields);

// May the same call be sent once more after this failure?
bool may_repeat(const ApiCall& call, const ApiError& error);

// The headers that go with every request of these credentials.
net::HttpFields common_fields(const ClusterAccess& access, const std::string& user_agent,
                              const std::string& authorization);

}  // namespace gpuctl::k8s
