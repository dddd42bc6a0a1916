#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <system_error>

#include "aio/task_group.hpp"
#include "cli/commands/commands.hpp"
#include "cli/sessions/commands.hpp"
#include "cli/sessions/pod_session.hpp"
#include "cli/sessions/terminal.hpp"

namespace gpuctl::cli {
namespace {

struct Exec {
    aio::Loop& loop;
    std::shared_ptr<PodSession> session;
    bool has_input = false;
    bool has_terminal = false;
    bool over = false;
    bool reader_has_gone = false;  // such as head; no error to report
};

// Input, and the size of the terminal: at first, and whenever it changes.
aio::Task<void> carry_keys(std::shared_ptr<Exec> exec) {
    bool is_resized = exec->has_terminal;
    bool reads = exec->has_input;
    while (!exec->over && (reads || exec->has_terminal)) {
        const std::optional<wire::TerminalSize> size = is_resized ? terminal_size() : std::nullopt;
        if (size) {
            std::string text = wire::terminal_size_json(*size);
            Result<void> sent =
                co_await exec->session->send(wire::SessionChannel::terminal_size, std::move(text));
            if (!sent) co_return;
        }
        std::function<InputPiece()> work = [reads] {
            return read_input_piece(wire::kSessionPieceBytes, reads);
        };
        InputPiece piece = co_await aio::offload(exec->loop, std::move(work));
        is_resized = piece.is_resized;
        if (exec->over || (piece.bytes.empty() && !piece.ended)) continue;
        const wire::SessionChannel channel =
            piece.ended ? wire::SessionChannel::end_of_input : wire::SessionChannel::input;
        Result<void> sent = co_await exec->session->send(channel, std::move(piece.bytes));
        if (!sent) co_return;
        reads = !piece.ended;
    }
}

// The exit code of the command; what it writes appears here.
aio::Task<Result<std::int32_t>> carry_output(std::shared_ptr<Exec> exec) {
    for (;;) {
        Result<SessionPiece> piece = co_await exec->session->next();
        if (!piece) co_return piece.error();
        if (piece->channel == wire::SessionChannel::outcome) {
            co_return wire::read_session_outcome(piece->bytes);
        }
        const bool is_error = piece->channel == wire::SessionChannel::error_output;
        const int failed = write_out(is_error ? STDERR_FILENO : STDOUT_FILENO, piece->bytes);
        exec->reader_has_gone = failed == EPIPE;
        if (failed == 0) continue;
        co_return make_error(ErrorCode::BadRequest,
                             "write what the pod sent: " + std::generic_category().message(failed));
    }
}

}  // namespace

aio::Task<int> run_exec(Connection& connection, ExecOptions options) {
    if (options.has_terminal && options.has_input && !input_is_terminal()) {
        std::cerr << "gpuctl: standard input is not a terminal; continuing without -t\n";
        options.has_terminal = false;
    }
    SessionWish wish;
    wish.route = options.command.empty() ? "attach" : "exec";
    wish.job = options.job;
    wish.pod = options.pod;
    wish.container = options.container;
    wish.command = options.command;
    wish.has_input = options.has_input;
    wish.has_terminal = options.has_terminal;
    Result<std::shared_ptr<PodSession>> session =
        co_await PodSession::open(connection, std::move(wish));
    if (!session) co_return report(session.error(), Format::table);
    RawTerminal terminal;
    std::optional<ResizeWatch> watch;
    if (options.has_terminal) watch.emplace();
    if (options.has_terminal && options.has_input) terminal.enter();
    const std::shared_ptr<Exec> exec{new Exec{connection.loop(), *session, options.has_input,
                                              options.has_terminal, false, false}};
    aio::TaskGroup tasks{connection.loop()};
    tasks.spawn("keys", carry_keys(exec));
    Result<std::int32_t> code = co_await carry_output(exec);
    exec->over = true;
    co_await exec->session->close();
    tasks.cancel();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    co_await tasks.join(deadline);
    terminal.leave();
    if (exec->reader_has_gone) co_return 1;
    co_return code ? *code : session_exit_code(code.error());
}

}  // namespace gpuctl::cli
