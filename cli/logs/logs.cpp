#include <iostream>
#include <regex>

#include "cli/commands/commands.hpp"
#include "cli/logs/log_output.hpp"
#include "text/screen_line.hpp"
#include "wire/log_limits.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kReconnectsMax = 20;
constexpr std::chrono::seconds kReconnectPause{1};
constexpr std::chrono::hours kFollowWait{24 * 365};

// The state after one connection: where to resume, and whether the log has ended.
struct FollowState {
    std::string resume;  // opaque position of the last printed line
    bool ended = false;
    bool several_pods = false;
    int exit_code = 0;
};

// The server puts "[pod] " before the lines of several pods; it is not part of the line.
std::string without_pod(const std::string& line, bool all_pods) {
    const std::size_t end = all_pods && line.starts_with('[') ? line.find("] ") : line.npos;
    return end == line.npos ? line : line.substr(end + 2);
}

bool wanted(const std::string& line, const std::string& pattern) {
    return pattern.empty() || std::regex_search(line, std::regex{pattern});
}

constexpr std::int64_t kTailUsual = 100;

std::string tail_of(const LogsOptions& options) {
    if (options.tail > 0) return std::to_string(options.tail);
    return std::to_string(options.since > Duration{} ? std::int64_t{wire::kLogTailMax}
                                                     : kTailUsual);
}

std::string since_of(const LogsOptions& options) {
    const std::int64_t seconds = (options.since.ms() + 999) / 1'000;
    return seconds > 0 ? std::to_string(seconds) : "";
}

void print_line(const nlohmann::json& frame, const LogsOptions& options, LogOutput& output) {
    const std::string line = text::on_screen(text_of(frame, "data"));
    if (!wanted(line, options.grep)) return;
    const std::string time = options.timestamps ? text_of(frame, "time") + " " : "";
    if (options.format != Format::json) return output.line(text_of(frame, "pod"), time + line);
    std::cout << frame.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    std::cout.flush();
}

// A program that reads JSON gets complete lines only.
void show_partial(const nlohmann::json& frame, const LogsOptions& options, LogOutput& output) {
    const std::string line = text_of(frame, "data");
    if (options.format == Format::json || !wanted(line, options.grep)) return;
    const auto redrawn = frame.find("redrawn");
    output.partial(text_of(frame, "pod"), line,
                   redrawn != frame.end() && *redrawn == nlohmann::json(true));
}

void print_frame(const nlohmann::json& frame, const LogsOptions& options, FollowState& state,
                 LogOutput& output) {
    const std::string type = text_of(frame, "type");
    if (type == "log") {
        print_line(frame, options, output);
        state.ended = !std::cout;  // the reader closed standard output
        state.resume = text_of(frame, "position", text_of(frame, "seq", state.resume));
    } else if (type == "partial") {
        show_partial(frame, options, output);
        state.ended = !std::cout;
    } else if (type == "dropped") {
        output.print_note(number_of(frame, "count") +
                          " lines were dropped here because this reader was too slow");
    } else if (type == "gap") {
        output.print_note(text_of(frame, "data", "some lines are not stored any more"));
    } else if (type == "status") {
        output.print_note(text_of(frame, "data"));
    } else if (type == "error") {
        output.print_note(text_of(frame, "data", text_of(frame, "message")));
        state.exit_code = 1;
        state.ended = true;
    } else if (type == "end") {
        state.ended = true;
    }
}

aio::Task<Result<void>> follow_once(Connection& connection, const LogsOptions& options,
                                    FollowState& state, LogOutput& output) {
    const std::string tail = state.resume.empty() ? tail_of(options) : "";
    const std::string target =
        "/api/v1/jobs/" + net::percent_encode(options.job) + "/logs/ws" +
        query({{"namespace", connection.options().namespace_name},
               {"pod", options.pod},
               {"container", options.container},
               {"all", options.all_pods ? "true" : ""},
               {"tail", tail},
               {"sinceSeconds", state.resume.empty() ? since_of(options) : ""},
               {"since", state.resume}});
    Result<std::unique_ptr<net::WebSocket>> socket = co_await connection.open_websocket(target);
    if (!socket) co_return socket.error();
    while (!state.ended) {
        const aio::Deadline deadline = aio::Deadline::in(kFollowWait);
        Result<std::optional<std::string>> message = co_await (*socket)->read_text(deadline);
        if (!message) co_return message.error();
        if (!*message) {
            co_return make_error(ErrorCode::Unreachable,
                                 "follow the log: gpuctld closed the stream");
        }
        const nlohmann::json frame = nlohmann::json::parse(**message, nullptr, false);
        if (frame.is_object()) print_frame(frame, options, state, output);
    }
    const aio::Deadline closing = aio::Deadline::in(std::chrono::seconds{2});
    co_await (*socket)->close(net::CloseCode::normal, "", closing);
    co_return Result<void>{};
}

bool worth_another_try(ErrorCode code) {
    return code == ErrorCode::Unreachable || code == ErrorCode::UnknownOutcome ||
           code == ErrorCode::Timeout || code == ErrorCode::TooManyRequests ||
           code == ErrorCode::ShuttingDown || code == ErrorCode::ProtocolError;
}

// Reconnects and resumes; the server reports lines that were lost meanwhile.
aio::Task<int> follow(Connection& connection, LogsOptions options) {
    FollowState state;
    LogOutput output{std::cout, std::cerr, LogOutput::standard(options.all_pods)};
    for (int attempt = 0;;) {
        const std::string before = state.resume;
        Result<void> outcome = co_await follow_once(connection, options, state, output);
        output.end();
        if (outcome || state.ended) co_return state.exit_code;
        if (state.resume != before) attempt = 0;
        const Error error = outcome.error();
        const bool first = state.resume.empty() && attempt == 0;
        if (first || !worth_another_try(error.code) || ++attempt > kReconnectsMax) {
            co_return report(error, options.format, options.job);
        }
        std::cerr << "gpuctl: the connection was lost (" << printable(error.message)
                  << "); reconnecting\n";
        const aio::Deadline pause = aio::Deadline::in(kReconnectPause);
        co_await aio::sleep_until(pause);
    }
}

aio::Task<int> print_once(Connection& connection, LogsOptions options) {
    const std::string tail = tail_of(options);
    const std::string target = "/api/v1/jobs/" + net::percent_encode(options.job) + "/logs" +
                               query({{"namespace", connection.options().namespace_name},
                                      {"pod", options.pod},
                                      {"container", options.container},
                                      {"all", options.all_pods ? "true" : ""},
                                      {"tail", tail},
                                      {"sinceSeconds", since_of(options)},
                                      {"previous", options.previous ? "true" : ""},
                                      {"timestamps", options.timestamps ? "true" : ""}});
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format, options.job);
    const auto text = [](const nlohmann::json& entry) {
        return entry.is_string() ? entry.get<std::string>() : text_of(entry, "data");
    };
    nlohmann::json lines = nlohmann::json::array();
    for (const auto& entry : reply->body.value("logs", nlohmann::json::array())) {
        std::string line = without_pod(text(entry), options.all_pods);
        if (options.timestamps) line.erase(0, line.find(' ') + 1);
        if (wanted(text::on_screen(line), options.grep)) lines.push_back(entry);
    }
    if (options.format == Format::json) {
        print_json(std::cout,
                   {{"logs", lines},
                    {"pod_name", text_of(reply->body, "pod", text_of(reply->body, "podName"))},
                    {"namespace", text_of(reply->body, "namespace")}});
        co_return 0;
    }
    for (const auto& entry : lines) {
        const std::string whole = text(entry);
        const std::string line = without_pod(whole, options.all_pods);
        std::cout << printable(whole.substr(0, whole.size() - line.size()) + text::on_screen(line))
                  << '\n';
    }
    if (reply->body.value("logs", nlohmann::json::array()).empty()) {
        std::cerr << "gpuctl: " << printable(text_of(reply->body, "message", "no output yet"))
                  << '\n';
    }
    co_return 0;
}

}  // namespace

aio::Task<int> run_logs(Connection& connection, LogsOptions options) {
    try {
        const std::regex probe{options.grep};
    } catch (const std::regex_error& problem) {
        const Error error = make_error(
            ErrorCode::BadRequest,
            "--grep " + options.grep + " is not a regular expression (" + problem.what() + ")");
        report(error, options.format);
        co_return 2;
    }
    if (options.all_pods && !options.pod.empty()) {
        report(make_error(ErrorCode::BadRequest, "give either --pod or --all-pods, not both"),
               options.format);
        co_return 2;
    }
    if (options.follow && options.previous) {
        report(make_error(ErrorCode::BadRequest,
                          "the log of a previous container has ended: give either --follow or "
                          "--previous, not both"),
               options.format);
        co_return 2;
    }
    if (options.follow) {
        const int followed = co_await follow(connection, std::move(options));
        co_return followed;
    }
    const int printed = co_await print_once(connection, std::move(options));
    co_return printed;
}

}  // namespace gpuctl::cli
