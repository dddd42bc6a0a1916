#include "k8s/client/api_status.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "k8s/json/json_text.hpp"
#include "text/http_status.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::size_t kExcerptBytes = 200;

std::string text_at(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

// Retry-After in seconds; API servers do not use the HTTP-date form, which counts as absent.
std::optional<std::chrono::seconds> seconds_of(std::string_view field) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size() || value < 0) {
        return std::nullopt;
    }
    return std::chrono::seconds{std::min<std::int64_t>(value, 3'600)};
}

// The answer of a proxy as one short printable line.
std::string excerpt(std::string_view body) {
    std::string out;
    for (const char c : body.substr(0, kExcerptBytes)) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(byte >= 0x20 && byte < 0x7f ? c : ' ');
    }
    if (body.size() > kExcerptBytes) out += " ...";
    return out;
}

void read_details(const nlohmann::json& details, ApiStatus& status) {
    if (!details.is_object()) return;
    if (const auto found = details.find("retryAfterSeconds");
        found != details.end() && found->is_number_unsigned()) {
        status.retry_after =
            std::chrono::seconds{std::min<std::uint64_t>(found->get<std::uint64_t>(), 3'600)};
    }
    const auto causes = details.find("causes");
    if (causes == details.end() || !causes->is_array()) return;
    for (const auto& cause : *causes) {
        if (!cause.is_object()) continue;
        status.causes.push_back(
            {text_at(cause, "reason"), text_at(cause, "message"), text_at(cause, "field")});
    }
}

std::string cause_message(const ApiStatus& status, std::string_view reason) {
    for (const StatusCause& cause : status.causes) {
        if (cause.reason == reason && !cause.message.empty()) return cause.message;
    }
    return status.message;
}

// Whether a write that got a server error took effect is unknown.
ErrorCode code_of(int status, bool write) {
    if (status < 500) return text::code_of_http_status(status);
    return write ? ErrorCode::UnknownOutcome : ErrorCode::ClusterUnavailable;
}

}  // namespace

bool ApiError::has_cause(std::string_view cause_reason) const {
    return std::any_of(causes.begin(), causes.end(),
                       [&](const StatusCause& cause) { return cause.reason == cause_reason; });
}

ApiError make_api_error(ErrorCode code, std::string message) {
    ApiError error;
    error.code = code;
    error.message = std::move(message);
    return error;
}

ApiStatus parse_status(int http_status, std::string_view body, std::string_view retry_after_field) {
    ApiStatus status;
    status.code = http_status;
    status.retry_after = seconds_of(retry_after_field);
    const auto json = nlohmann::json::parse(body, nullptr, false);
    if (!json.is_object() || text_at(json, "kind") != "Status") {
        status.success = http_status >= 200 && http_status < 300;
        status.message = excerpt(body);
        return status;
    }
    status.success = text_at(json, "status") == "Success";
    status.reason = text_at(json, "reason");
    status.message = text_at(json, "message");
    if (const auto code = json.find("code"); code != json.end() && code->is_number_integer() &&
                                             code->get<std::int64_t>() >= 100 &&
                                             code->get<std::int64_t>() < 600) {
        status.code = code->get<int>();
    }
    if (const auto details = json.find("details"); details != json.end()) {
        const auto from_field = status.retry_after;
        read_details(*details, status);
        if (from_field)
            status.retry_after =
                from_field;  // the server's priority and fairness filter sets this field
    }
    return status;
}

bool is_failure_status(std::string_view body) {
    // The first member of a typed answer is its kind, so this stops after one member unless it is a
    // Status.
    return json_string_member(body, "kind") == "Status" &&
           json_string_member(body, "status") == "Failure";
}

ApiError to_error(const ApiStatus& status, bool write, std::string_view what) {
    ApiError error;
    // A reason is more exact than the code; Expired comes as 410 and, in lists, as 400.
    error.code = status.reason == "Expired" || status.reason == "Gone"
                     ? ErrorCode::Gone
                     : code_of(status.code, write);
    error.http_status = status.code;
    error.reason = status.reason;
    error.causes = status.causes;
    error.retry_after = status.retry_after;
    if (error.is_namespace_terminating()) {
        error.message = std::string{what} + ": " + cause_message(status, "NamespaceTerminating") +
                        "; nothing can be created in it";
        return error;
    }
    error.message = std::string{what} + ": the API server answered " + std::to_string(status.code);
    if (!status.reason.empty()) error.message += " " + status.reason;
    if (!status.message.empty()) error.message += " (" + status.message + ")";
    return error;
}

}  // namespace gpuctl::k8s
