#include "k8s/client/client_http.hpp"

#include "k8s/json/json_text.hpp"

namespace gpuctl::k8s {

namespace {

std::string without_query(std::string_view path) {
    return std::string{path.substr(0, std::min(path.find('?'), path.size()))};
}

// Everything below /api and /apis is answered with one JSON object; /readyz is not.
bool is_object_answer(const ApiCall& call, std::string_view body) {
    if (!call.path.starts_with("/api")) return true;
    const std::size_t begin = body.find_first_not_of(" \n\r\t");
    return begin != body.npos && body[begin] == '{' && json_value_end(body, begin) != body.npos;
}

void add_impersonation(const Impersonation& impersonation, net::HttpFields& fields) {
    if (impersonation.user.empty()) return;
    fields.add("Impersonate-User", impersonation.user);
    if (!impersonation.uid.empty()) fields.add("Impersonate-Uid", impersonation.uid);
    for (const auto& group : impersonation.groups) fields.add("Impersonate-Group", group);
    for (const auto& [key, values] : impersonation.extra) {
        for (const auto& value : values) {
            fields.add("Impersonate-Extra-" + net::percent_encode(key), value);
        }
    }
}

}  // namespace

bool is_read(std::string_view method) { return method == "GET" || method == "HEAD"; }

std::string describe(const ApiCall& call) { return call.method + " " + without_query(call.path); }

ApiError from_transport(const ApiCall& call, const Error& error) {
    ErrorCode code = error.code;
    const bool not_processed = code == ErrorCode::Unreachable || code == ErrorCode::TlsFailed ||
                               code == ErrorCode::TooManyRequests || code == ErrorCode::Cancelled ||
                               code == ErrorCode::Timeout;
    if (is_read(call.method)) {
        if (code == ErrorCode::UnknownOutcome) code = ErrorCode::Unreachable;
    } else if (!not_processed) {
        code = ErrorCode::UnknownOutcome;
    }
    return make_api_error(code, error.message);  // net/ names the request in the message already
}

std::optional<ApiError> from_answer(const ApiCall& call, const net::HttpResponse& answer) {
    const bool fine = answer.status >= 200 && answer.status < 300;
    if (fine && !is_object_answer(call, answer.body)) {
        // The answer came from a proxy, or was cut short: the outcome is unknown.
        const ErrorCode code =
            is_read(call.method) ? ErrorCode::ClusterUnavailable : ErrorCode::UnknownOutcome;
        return make_api_error(
            code,
            describe(call) + ": answered " + std::to_string(answer.status) +
                " without a complete JSON object; is there a proxy in front of the API server?");
    }
    if (fine && !is_failure_status(answer.body)) return std::nullopt;
    const ApiStatus status =
        parse_status(answer.status, answer.body, answer.fields.get("Retry-After"));
    return with_redirect(to_error(status, !is_read(call.method), describe(call)), answer.status,
                         answer.fields);
}

ApiError with_redirect(ApiError error, int status, const net::HttpFields& fields) {
    const std::string target = net::redirect_target(status, fields.get("Location"));
    if (target.empty()) return error;
    error.message +=
        "; it redirects to " + target +
        ", which is not followed: if that is the API server, name it in the kubeconfig";
    return error;
}

bool may_repeat(const ApiCall& call, const ApiError& error) {
    if (call.retry == RetryClass::never) return false;
    switch (error.code) {
        // Refused before processing: by us, by the connection or by the server's throttle.
        case ErrorCode::Unreachable:
        case ErrorCode::TooManyRequests:
            return true;
        case ErrorCode::ClusterUnavailable:
        case ErrorCode::UnknownOutcome:
            return call.retry == RetryClass::safe;
        default:
            return false;
    }
}

net::HttpFields common_fields(const ClusterAccess& access, const std::string& user_agent,
                              const std::string& authorization) {
    net::HttpFields fields;
    fields.add("User-Agent", user_agent);
    fields.add("Accept", "application/json");
    if (!authorization.empty()) fields.add("Authorization", authorization);
    add_impersonation(access.impersonate, fields);
    return fields;
}

}  // namespace gpuctl::k8s
