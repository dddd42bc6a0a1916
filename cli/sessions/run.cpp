// A job for one command, watched until it ends.

#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/sessions/commands.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};

std::string job_address(const Connection& connection, const std::string& name) {
    return "/api/v1/jobs/" + net::percent_encode(name) +
           query({{"namespace", connection.options().namespace_name}});
}

bool has_ended(const std::string& status) { return status == "Succeeded" || status == "Failed"; }

// The status of the job once it runs or has ended, with the reason of each wait on the way.
aio::Task<Result<std::string>> wait_for_start(Connection& connection, std::string name,
                                              std::int64_t seconds) {
    const aio::Deadline until = aio::Deadline::in(std::chrono::seconds{seconds});
    std::string reported;
    while (!until.passed()) {
        std::string address = job_address(connection, name);
        Result<Reply> reply = co_await connection.get(std::move(address));
        if (!reply) co_return reply.error();
        const std::string status = text_of(reply->body, "status");
        const bool runs = status == "Running" || status == "Partially Running";
        if (runs || has_ended(status)) co_return status;
        const std::string reason =
            reply->body.contains("waiting") ? text_of(reply->body["waiting"], "sentence") : "";
        if (!reason.empty() && reason != reported) {
            std::cerr << "gpuctl: " << printable(name) << " is " << printable(status) << ": "
                      << printable(reason) << '\n';
            reported = reason;
        }
        const aio::Deadline pause = aio::Deadline::in(kLookAgain);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) break;
    }
    co_return make_error(ErrorCode::Timeout, "wait for job " + name +
                                                 " to start: it did not within " +
                                                 std::to_string(seconds) +
                                                 " s, and keeps its place in the queue; `gpuctl "
                                                 "explain job " +
                                                 name + "` says why");
}

aio::Task<Result<std::string>> final_status(Connection& connection, std::string name) {
    const aio::Deadline until = aio::Deadline::in(std::chrono::seconds{30});
    std::string status;
    while (!until.passed()) {
        std::string address = job_address(connection, name);
        Result<Reply> reply = co_await connection.get(std::move(address));
        if (!reply) co_return reply.error();
        status = text_of(reply->body, "status");
        if (has_ended(status)) break;
        const aio::Deadline pause = aio::Deadline::in(kLookAgain);
        const bool slept = co_await aio::sleep_until(pause);
        if (!slept) break;
    }
    co_return status;
}

aio::Task<int> watch_run(Connection& connection, RunOptions options) {
    Result<std::string> started =
        co_await wait_for_start(connection, options.name, options.wait_seconds);
    if (!started) co_return report(started.error(), Format::table);
    LogsOptions logs;
    logs.job = options.name;
    logs.follow = true;
    logs.tail = 10'000;
    int exit_code = co_await run_logs(connection, std::move(logs));
    if (exit_code != 0) co_return exit_code;
    Result<std::string> status = co_await final_status(connection, options.name);
    if (!status) co_return report(status.error(), Format::table);
    if (*status == "Failed") {
        std::cerr << "gpuctl: job " << printable(options.name) << " failed; `gpuctl describe job "
                  << printable(options.name) << "` says how\n";
        exit_code = 1;
    }
    co_return exit_code;
}

}  // namespace

std::string run_document(const RunOptions& options) {
    nlohmann::json document{
        {"kind", "training"},
        {"job", {{"name", options.name}}},
        {"environment", {{"image", options.image}}},
        {"resources", {{"cpu", options.cpu}, {"memory", options.memory}}},
    };
    if (!options.command.empty()) document["environment"]["command"] = options.command;
    if (!options.pool.empty()) document["resources"]["pool"] = options.pool;
    document["resources"]["gpu"] = options.gpu.empty() ? "0" : options.gpu;
    return document.dump();
}

aio::Task<int> run_run(Connection& connection, RunOptions options) {
    std::string target =
        "/api/v1/jobs" + query({{"namespace", connection.options().namespace_name}});
    std::string document = run_document(options);
    std::string type = "application/json";
    std::string verb = "POST";
    Result<Reply> created = co_await connection.call(std::move(verb), std::move(target),
                                                     std::move(document), std::move(type));
    if (!created) co_return report(created.error(), Format::table, options.name);
    std::cerr << "gpuctl: job " << printable(options.name)
              << " created; ctrl-c leaves it running\n";
    const std::string name = options.name;
    const bool removes = options.remove;
    const int exit_code = co_await watch_run(connection, std::move(options));
    if (!removes) co_return exit_code;
    std::string address = job_address(connection, name);
    std::string remove_verb = "DELETE";
    std::string nothing;
    std::string no_type;
    Result<Reply> removed = co_await connection.call(std::move(remove_verb), std::move(address),
                                                     std::move(nothing), std::move(no_type));
    if (!removed) co_return report(removed.error(), Format::table, name);
    co_return exit_code;
}

}  // namespace gpuctl::cli
