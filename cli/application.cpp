#include "cli/application.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <system_error>

#include "aio/task_group.hpp"
#include "cli/grammar.hpp"
#include "cli/usage_error.hpp"
#include "cli/words.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kWriteFailed = 1;
constexpr int kUsageError = 2;
constexpr int kInterrupted = 130;

struct Session {
    aio::Loop loop;
    std::unique_ptr<Connection> connection;
    int exit_code = 1;
};

aio::Task<void> run_verb(Session& session, CommandLine& line) {
    const int exit_code = co_await line.verb(*session.connection);
    session.exit_code = exit_code;
    session.loop.stop();
}

void leave_at_once(int) {
    constexpr std::string_view note = "\ngpuctl: interrupted; submitted jobs continue\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, note.data(), note.size());
    _exit(kInterrupted);
}

int refuse_setup(const CommandLine& line, const Error& error, Format format) {
    return line.is_doctor ? report_setup(error, line.doctor) : report(error, format);
}

int run_session(CommandLine& line, Format format) {
    Result<ConnectionOptions> options = resolve(line.connection);
    if (!options) return refuse_setup(line, options.error(), format);
    Session session;
    Result<std::unique_ptr<Connection>> connection = Connection::open(session.loop, *options);
    if (!connection) return refuse_setup(line, connection.error(), format);
    session.connection = std::move(*connection);
    std::signal(SIGINT, leave_at_once);
    std::signal(SIGPIPE, SIG_IGN);
    aio::TaskGroup tasks{session.loop};
    tasks.spawn("command", run_verb(session, line));
    session.loop.run();
    return session.exit_code;
}

}  // namespace

std::string help_text(const std::vector<std::string>& command_path) {
    CommandLine line;
    const std::unique_ptr<CLI::App> app = build(line);
    CLI::App* command = app.get();
    std::string prefix = "gpuctl";
    for (const std::string& word : command_path) {
        command = command->get_subcommand(word);
        if (&word != &command_path.back()) prefix += " " + word;
    }
    return command->help(command == app.get() ? "" : prefix);
}

namespace {

// The output format of --json and -o, from the raw words: the parser stops at the first word that
// it cannot parse.
Format format_in(const std::vector<std::string>& words) {
    Format format = Format::table;
    std::string_view before;
    for (const std::string_view word : words) {
        if (word == "--") break;
        if (word == "--json") return Format::json;
        std::string_view wanted;
        if (before == "-o" || before == "--output") wanted = word;
        if (word.starts_with("-o")) wanted = word.substr(2);
        if (word.starts_with("--output=")) wanted = word.substr(word.find('=') + 1);
        if (wanted == "json") format = Format::json;
        if (wanted == "yaml") format = Format::yaml;
        before = word;
    }
    return format;
}

int refuse_command_line(const CLI::App& app, const CLI::ParseError& problem, Format format) {
    const bool is_help = problem.get_exit_code() == 0;
    const std::optional<std::string> unknown =
        is_help ? unknown_command_of_help(app) : std::nullopt;
    if (is_help && !unknown) return app.exit(problem);
    const Error error =
        make_error(ErrorCode::BadRequest, unknown ? *unknown : usage_error(app, problem));
    if (is_document(format)) return report(error, format);
    std::cerr << "error: " << printable(error.message) << '\n';
    return kUsageError;
}

int refuse_value(const Error& error, Format format) {
    report(error, format);
    return kUsageError;
}

bool reader_has_gone() {
    pollfd output{STDOUT_FILENO, POLLOUT, 0};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// Standard output is checked once, at the end; a reader that closed early (head) is no error.
int written(int exit_code) {
    errno = 0;
    std::cout.flush();
    const int problem = errno;
    if (std::cout && std::ferror(stdout) == 0) return exit_code;
    if (!reader_has_gone()) {
        std::cerr << "error: write to standard output: "
                  << (problem == 0 ? "part of the output is lost"
                                   : std::generic_category().message(problem))
                  << '\n';
    }
    return exit_code == 0 ? kWriteFailed : exit_code;
}

int run_command_line(int argc, const char* const* argv) {
    CommandLine line;
    const std::unique_ptr<CLI::App> app = build(line);
    if (argc > 1 && std::string_view{argv[1]} == "__complete") {
        for (const std::string& word : completions(*app, {argv + 2, argv + argc})) {
            std::cout << word << '\n';
        }
        return 0;
    }
    std::vector<std::string> words = in_our_spelling(*app, {argv + 1, argv + argc});
    const Format format = format_in(words);
    try {
        std::reverse(words.begin(), words.end());  // CLI11 takes the words in reverse order
        app->parse(std::move(words));
    } catch (const CLI::ParseError& problem) {
        if (argc == 1) {
            std::cout << app->help();
            return kUsageError;
        }
        return refuse_command_line(*app, problem, format);
    }
    if (const auto bad = bad_flag_value(*app)) return refuse_value(*bad, format);
    if (app->get_subcommand("replay")->parsed()) return exec_replay(line.replay);
    if (line.local) return line.local();
    return run_session(line, format_of(line));
}

}  // namespace

int run(int argc, const char* const* argv) { return written(run_command_line(argc, argv)); }

}  // namespace gpuctl::cli
