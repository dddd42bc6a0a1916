#pragma once
// Checks a request's header block as raw bytes, before any parser reads it: a form that two parsers
// in a row could read differently (request smuggling) is refused rather than repaired. Beast 345
// accepts some of these forms. Pure functions; private to net/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuctl::net {

struct HeaderScan {
    enum class State : std::uint8_t { incomplete, complete, malformed };
    State state = State::incomplete;
    std::size_t bytes = 0;  // complete: length of the block with its empty line
};

// Finds the end of the header block. The first `scanned` bytes were scanned before without finding
// it. Malformed at the first CR or LF outside a CRLF, and at a NUL.
HeaderScan scan_header(std::string_view bytes, std::size_t scanned);

struct GuardLimits {
    std::size_t target_bytes_max;
    std::size_t fields_max = 100;
};

struct GuardRefusal {
    int status;
    std::string code;  // an ErrorCode's name
    std::string message;
};

// `header`: a complete block as scan_header found it.
std::optional<GuardRefusal> guard_header(std::string_view header, GuardLimits limits);

}  // namespace gpuctl::net
