#pragma once
// Errors on the wire: RFC 9457 problem documents that also carry `error` (the code) and `message`.
// One table maps a code to its HTTP status and its CLI exit code.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

struct ErrorRow {
    ErrorCode code;
    int http_status;
    int exit_code;
    std::string_view title;
};
const ErrorRow& row_of(ErrorCode code);

inline constexpr std::string_view kProblemType = "application/problem+json";

// {type, title, status, detail, instance, error, message, request_id,
// errors[{pointer,line,column,message}], warnings[likewise]}; no list that would be empty.
std::string problem_json(const Error& error, std::string_view instance, std::string_view request_id,
                         const std::vector<Detail>& warnings = {});

// Reads a problem document (CLI); anything else becomes an Error that quotes the answer.
Error error_from_response(int status, std::string_view content_type, std::string_view body);
// The document's warnings; none for any other body.
std::vector<Detail> warnings_from_response(std::string_view body);

}  // namespace gpuctl::wire
