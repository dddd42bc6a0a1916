#include "wire/problem.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "text/http_status.hpp"

namespace gpuctl::wire {
namespace {

// Exit codes (docs: gpuctl --help): 1 error, 2 usage, 3 not found, 4 conflict or an unmet
// condition, 5 not authenticated or not authorised, 6 wait timed out, 7 unreachable or overloaded.
constexpr auto kRows = std::to_array<ErrorRow>({
    {ErrorCode::InvalidYaml, 400, 1, "The YAML document cannot be read"},
    {ErrorCode::InvalidJson, 400, 1, "The JSON document cannot be read"},
    {ErrorCode::ValidationFailed, 400, 1, "The document breaks a rule"},
    {ErrorCode::UnsupportedKind, 400, 1, "This kind of document is not supported"},
    {ErrorCode::BadRequest, 400, 2, "The request is not valid"},
    {ErrorCode::HeaderTooLarge, 431, 1, "The request's header is too large"},
    {ErrorCode::BodyTooLarge, 413, 1, "The request's body is too large"},
    {ErrorCode::RequestTimeout, 408, 7, "The request took too long to arrive"},
    {ErrorCode::NotFound, 404, 3, "There is nothing at this address"},
    {ErrorCode::MethodNotAllowed, 405, 1, "The method is not allowed here"},
    {ErrorCode::UnsupportedMediaType, 415, 1, "The body's media type is not supported"},
    {ErrorCode::JobExists, 409, 4, "A job of that name exists"},
    {ErrorCode::JobNotFound, 404, 3, "There is no such job"},
    {ErrorCode::JobAmbiguous, 409, 4, "Several jobs have that name"},
    {ErrorCode::ImmutableField, 409, 4, "The field cannot be changed in place"},
    {ErrorCode::PoolNotFound, 404, 3, "There is no such pool"},
    {ErrorCode::PoolEmpty, 409, 4, "The pool has no node"},
    {ErrorCode::PoolInUse, 409, 4, "Jobs use the pool"},
    {ErrorCode::QueueNotFound, 404, 3, "There is no such queue"},
    {ErrorCode::NodeNotFound, 404, 3, "There is no such node"},
    {ErrorCode::LabelConflict, 409, 4, "The label has another value"},
    {ErrorCode::LabelNotFound, 404, 3, "The node has no such label"},
    {ErrorCode::NamespaceNotFound, 404, 3, "There is no such namespace"},
    {ErrorCode::NamespaceNotManaged, 403, 4, "gpuctl does not manage the namespace"},
    {ErrorCode::NeverFits, 409, 4, "The request can never fit"},
    {ErrorCode::QuotaExceeded, 403, 4, "The request exceeds the quota"},
    {ErrorCode::QuotaNotFound, 404, 3, "There is no such quota"},
    {ErrorCode::QuotaExists, 409, 4, "The namespace has a quota"},
    {ErrorCode::UseWebSocket, 400, 1, "Following a log needs a WebSocket"},
    {ErrorCode::Unauthorized, 401, 5, "Valid credentials are required"},
    {ErrorCode::Forbidden, 403, 5, "The credentials do not allow this"},
    {ErrorCode::Conflict, 409, 4, "The request conflicts with the present state"},
    {ErrorCode::IdempotencyKeyReused, 422, 4, "The idempotency key was used with another body"},
    {ErrorCode::Gone, 410, 3, "The requested data is gone"},
    {ErrorCode::ManagedByFile, 409, 4, "The configuration file has it"},
    {ErrorCode::NotSupportedHere, 501, 1, "This cluster does not support it"},
    {ErrorCode::TooManyRequests, 429, 7, "Too many requests"},
    {ErrorCode::ClusterUnavailable, 503, 7, "The cluster cannot be reached"},
    {ErrorCode::NotLeader, 503, 7, "This server is not the leader"},
    {ErrorCode::ShuttingDown, 503, 7, "The server is shutting down"},
    {ErrorCode::Timeout, 504, 6, "The operation took too long"},
    {ErrorCode::Cancelled, 503, 1, "The operation was cancelled"},
    {ErrorCode::UnknownOutcome, 502, 6, "The outcome of the operation is unknown"},
    {ErrorCode::Unreachable, 502, 7, "The peer cannot be reached"},
    {ErrorCode::TlsFailed, 502, 7, "The secure connection failed"},
    {ErrorCode::ProtocolError, 502, 1, "The peer violated the protocol"},
    {ErrorCode::JournalFailed, 507, 1, "The journal cannot be written"},
    {ErrorCode::JournalDamaged, 500, 1, "The journal is damaged"},
    {ErrorCode::InvalidConfiguration, 500, 1, "The configuration is not valid"},
    {ErrorCode::Internal, 500, 1, "Internal error"},
});

constexpr bool rows_are_in_order() {
    if (kRows.size() != kErrorCodeNames.size()) return false;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].code) != i) return false;
    }
    return true;
}
static_assert(rows_are_in_order(), "one row per error code, in the order of the enumeration");

constexpr std::size_t kShownMax = 200;

std::optional<ErrorCode> code_named(std::string_view name) {
    for (std::size_t i = 0; i < kErrorCodeNames.size(); ++i) {
        if (kErrorCodeNames[i] == name) return static_cast<ErrorCode>(i);
    }
    return std::nullopt;
}

std::string text_at(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

int number_at(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number_integer()) return 0;
    const auto value = it->get<std::int64_t>();
    return value > 0 && value <= 10'000'000 ? static_cast<int>(value) : 0;
}

// A stretch of foreign bytes that is safe on a terminal and in a log line.
std::string shown(std::string_view body) {
    std::string text;
    for (const char c : body.substr(0, kShownMax)) {
        const auto byte = static_cast<unsigned char>(c);
        text += byte < 0x20 || byte >= 0x7f ? ' ' : c;
    }
    return text + (body.size() > kShownMax ? " ..." : "");
}

Error foreign_answer(int status, std::string_view content_type, std::string_view body) {
    std::string message = "the server answered HTTP " + std::to_string(status);
    if (body.empty())
        return make_error(text::code_of_http_status(status), message + " without a body");
    message +=
        " with " + (content_type.empty() ? std::string{"no media type"} : shown(content_type));
    return make_error(text::code_of_http_status(status),
                      message + " instead of a problem document: " + shown(body));
}

nlohmann::ordered_json details_json(const std::vector<Detail>& details) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Detail& detail : details) {
        nlohmann::ordered_json entry;
        entry["pointer"] = detail.place.pointer;
        if (detail.place.line > 0) {
            entry["line"] = detail.place.line;
            entry["column"] = detail.place.column;
        }
        entry["message"] = detail.message;
        list.push_back(std::move(entry));
    }
    return list;
}

std::vector<Detail> details_at(const nlohmann::json& document, const char* key) {
    std::vector<Detail> details;
    const auto list = document.find(key);
    if (list == document.end() || !list->is_array()) return details;
    for (const auto& entry : *list) {
        if (!entry.is_object()) continue;
        details.push_back(
            {{text_at(entry, "pointer"), number_at(entry, "line"), number_at(entry, "column")},
             text_at(entry, "message")});
    }
    return details;
}

}  // namespace

const ErrorRow& row_of(ErrorCode code) { return kRows[static_cast<std::size_t>(code)]; }

std::string problem_json(const Error& error, std::string_view instance, std::string_view request_id,
                         const std::vector<Detail>& warnings) {
    const ErrorRow& row = row_of(error.code);
    nlohmann::ordered_json problem;
    problem["type"] = "urn:gpuctl:error:" + std::string{to_string(error.code)};
    problem["title"] = row.title;
    problem["status"] = row.http_status;
    problem["detail"] = error.message;
    problem["instance"] = instance;
    problem["error"] = to_string(error.code);
    problem["message"] = error.message;
    problem["request_id"] = request_id;
    if (!error.details.empty()) problem["errors"] = details_json(error.details);
    if (!warnings.empty()) problem["warnings"] = details_json(warnings);
    // Text from outside may be invalid UTF-8; an error about it must still be sent.
    return problem.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error error_from_response(int status, std::string_view content_type, std::string_view body) {
    const auto document = nlohmann::json::parse(body, nullptr, false);
    if (!document.is_object()) return foreign_answer(status, content_type, body);
    const std::string name = text_at(document, "error");
    const auto code = code_named(name);
    std::string message = text_at(document, "message");
    if (message.empty()) message = text_at(document, "detail");
    if (!code && message.empty()) return foreign_answer(status, content_type, body);
    if (message.empty()) message = std::string{row_of(*code).title};
    // A newer server may use unknown codes: the status still says what to do.
    Error error = make_error(code ? *code : text::code_of_http_status(status), std::move(message));
    error.details = details_at(document, "errors");
    return error;
}

std::vector<Detail> warnings_from_response(std::string_view body) {
    const auto document = nlohmann::json::parse(body, nullptr, false);
    return document.is_object() ? details_at(document, "warnings") : std::vector<Detail>{};
}

}  // namespace gpuctl::wire
