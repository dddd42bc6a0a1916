#include <unistd.h>

#include <csignal>
#include <iostream>

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
};

// Input and the size of the terminal, whenever it changes.
aio::Task<void> carry_keys(std::shared_ptr<Exec> exec) {
    std::optional<wire::TerminalSize> shown;
    bool reads = exec->has_input;
    while (!exec->over && (reads || exec->has_terminal)) {
        const std::optional<wire::TerminalSize> size =
            exec->has_terminal ? terminal_size() : std::nullopt;
        if (size && size != shown) {
            shown = size;
            std::string text = wire::terminal_size_json(*size);
            Result<void> sent =
                co_await exec->session->send(wire::SessionChannel::terminal_size, std::move(text));
            if (!sent) co_return;
        }
        if (!reads) {
            const aio::Deadline pause = aio::Deadline::in(std::chrono::milliseconds{200});
            const bool slept = co_await aio::sleep_until(pause);
            if (!slept) co_return;
            continue;
        }
        std::function<InputPiece()> work = [] {
            return read_input_piece(wire::kSessionPieceBytes);
        };
        InputPiece piece = co_await aio::offload(exec->loop, std::move(work));
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
        Result<void> written = write_out(is_error ? STDERR_FILENO : STDOUT_FILENO, piece->bytes);
        if (!written) co_return written.error();
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
    if (options.has_terminal && options.has_input) terminal.enter();
    const std::shared_ptr<Exec> exec{
        new Exec{connection.loop(), *session, options.has_input, options.has_terminal, false}};
    aio::TaskGroup tasks{connection.loop()};
    tasks.spawn("keys", carry_keys(exec));
    Result<std::int32_t> code = co_await carry_output(exec);
    exec->over = true;
    co_await exec->session->close();
    tasks.cancel();
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    co_await tasks.join(deadline);
    terminal.leave();
    co_return code ? *code : session_exit_code(code.error());
}

}  // namespace gpuctl::cli
