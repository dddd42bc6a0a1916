#pragma once
// Maps an HTTP status of another server to our error codes. The reverse, the status that our own
// server sends for a code, is a column of the table in wire/problem.cpp.

#include "scheduler/base/error_code.hpp"

namespace gpuctl::text {

// For an answer without one of our problem documents: another server's or a proxy's. ProtocolError
// for a status below 400, which is no refusal.
ErrorCode code_of_http_status(int status);

}  // namespace gpuctl::text
