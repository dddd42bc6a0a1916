#pragma once
// Messages of a session between gpuctl and gpuctld: WebSocket messages of bytes, of which the first
// is the channel (docs/sessions.md).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

// Input is read in pieces of this size; a frame may be larger.
inline constexpr std::size_t kSessionPieceBytes = 32u << 10;

enum class SessionChannel : std::uint8_t {
    input = 0,
    output = 1,
    error_output = 2,
    outcome = 3,        // the last message: {"exitCode": 0} or a problem document
    terminal_size = 4,  // {"columns": 80, "rows": 24}
    end_of_input = 5
};

std::string session_frame(SessionChannel channel, std::string_view bytes);

struct SessionFrame {
    SessionChannel channel = SessionChannel::input;
    std::string_view bytes;  // in the message
};
// nullopt: empty, or of a channel that is not one of these.
std::optional<SessionFrame> read_session_frame(std::string_view message);

struct TerminalSize {
    std::uint16_t columns = 0;
    std::uint16_t rows = 0;
    friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
std::string terminal_size_json(TerminalSize size);
std::optional<TerminalSize> read_terminal_size(std::string_view text);

std::string session_outcome_json(std::int32_t exit_code);
std::string session_outcome_json(const Error& failed);
// The exit code, or why there is none.
Result<std::int32_t> read_session_outcome(std::string_view text);

}  // namespace gpuctl::wire
