#pragma once
// The user's terminal and standard input during a session.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"
#include "wire/session_frames.hpp"

namespace gpuctl::cli {

// While it exists, keys are sent as they are typed and nothing is echoed here. The terminal is
// restored by the destructor, at exit, and by every signal that ends the process but SIGKILL.
class RawTerminal {
public:
    RawTerminal() = default;
    ~RawTerminal() { leave(); }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

    // False: standard input is no terminal.
    bool enter();
    void leave();
};

[[nodiscard]] bool input_is_terminal();
// Of the terminal of standard input or output; nullopt: there is none.
[[nodiscard]] std::optional<wire::TerminalSize> terminal_size();

// While it exists, changes of the terminal's size (SIGWINCH) end read_input_piece() at once. One at
// a time.
class ResizeWatch {
public:
    ResizeWatch();
    ~ResizeWatch();
    ResizeWatch(const ResizeWatch&) = delete;
    ResizeWatch& operator=(const ResizeWatch&) = delete;
};

struct InputPiece {
    std::string bytes;
    bool ended = false;
    bool is_resized = false;
};
// Waits for at most a fifth of a second, for input (if `reads`) or a new size. Blocks: call it on
// the pool.
InputPiece read_input_piece(std::size_t bytes_max, bool reads);

// To standard output or error; 0, or the errno: EPIPE when the reader has gone.
int write_out(int descriptor, std::string_view bytes);

}  // namespace gpuctl::cli
