#include "cli/sessions/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace gpuctl::cli {

namespace {

constexpr int kInputWaitMs = 200;
constexpr std::array<int, 7> kDeadlySignals{SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                            SIGABRT, SIGSEGV, SIGBUS};

// For handlers of signals, which may use nothing else.
termios cooked_terminal;
volatile std::sig_atomic_t terminal_is_raw = 0;

void restore_terminal() {
    if (terminal_is_raw == 0) return;
    terminal_is_raw = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &cooked_terminal);
}

void restore_and_die(int signal) {
    restore_terminal();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// A byte for each change of the terminal's size.
int resizes[2] = {-1, -1};

void note_resize(int) {
    const int before = errno;
    [[maybe_unused]] const ssize_t written = write(resizes[1], "", 1);
    errno = before;
}

}  // namespace

bool RawTerminal::enter() {
    if (tcgetattr(STDIN_FILENO, &cooked_terminal) != 0) return false;
    static const bool at_exit = std::atexit(restore_terminal) == 0;
    static_cast<void>(at_exit);
    for (const int signal : kDeadlySignals) std::signal(signal, restore_and_die);
    termios raw = cooked_terminal;
    cfmakeraw(&raw);
    terminal_is_raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0) return true;
    terminal_is_raw = 0;
    return false;
}

void RawTerminal::leave() { restore_terminal(); }

bool input_is_terminal() { return isatty(STDIN_FILENO) == 1; }

std::optional<wire::TerminalSize> terminal_size() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO}) {
        winsize size{};
        if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
            return wire::TerminalSize{size.ws_col, size.ws_row};
        }
    }
    return std::nullopt;
}

ResizeWatch::ResizeWatch() {
    if (pipe2(resizes, O_NONBLOCK | O_CLOEXEC) != 0) return;
    struct sigaction action{};
    action.sa_handler = note_resize;
    action.sa_flags = SA_RESTART;
    sigaction(SIGWINCH, &action, nullptr);
}

ResizeWatch::~ResizeWatch() {
    std::signal(SIGWINCH, SIG_DFL);
    for (int& end : resizes) {
        if (end >= 0) close(end);
        end = -1;
    }
}

InputPiece read_input_piece(std::size_t bytes_max, bool reads) {
    InputPiece piece;
    // A negative descriptor is not looked at.
    std::array<pollfd, 2> ends{pollfd{reads ? STDIN_FILENO : -1, POLLIN, 0},
                               pollfd{resizes[0], POLLIN, 0}};
    if (poll(ends.data(), ends.size(), kInputWaitMs) <= 0) return piece;
    std::array<char, 64> marks{};
    while (ends[1].revents != 0 && read(resizes[0], marks.data(), marks.size()) > 0) {
        piece.is_resized = true;
    }
    if (ends[0].revents == 0) return piece;
    piece.bytes.resize(bytes_max);
    const ssize_t count = read(STDIN_FILENO, piece.bytes.data(), piece.bytes.size());
    const bool try_again = count < 0 && (errno == EINTR || errno == EAGAIN);
    piece.ended = count <= 0 && !try_again;
    piece.bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return piece;
}

int write_out(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(descriptor, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) {
            pollfd output{descriptor, POLLOUT, 0};
            poll(&output, 1, kInputWaitMs);
            continue;
        }
        return errno;
    }
    return 0;
}

}  // namespace gpuctl::cli
