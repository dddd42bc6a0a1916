// scale, update, pause and resume: single changes of a job by name.

#include <iostream>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {
namespace {

int print_changed(const ChangeOptions& options, const nlohmann::json& body) {
    if (is_document(options.format)) {
        print_document(std::cout, body, options.format);
    } else if (options.format == Format::name) {
        const JobName job{text_of(body, "namespace", "default"), text_of(body, "jobId")};
        std::cout << printable(typed_name(job)) << '\n';
    } else {
        std::cout << printable(text_of(body, "message")) << '\n';
    }
    return 0;
}

aio::Task<int> send_change(Connection& connection, ChangeOptions options, std::string verb,
                           std::string step, nlohmann::json body) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(options.job) + step +
                               query({{"namespace", connection.options().namespace_name}});
    const Result<Reply> reply =
        co_await connection.call(std::move(verb), target, body.dump(), "application/json");
    if (!reply) co_return report(reply.error(), options.format);
    if (!is_document(options.format)) print_warnings("warning", reply->body);
    co_return print_changed(options, reply->body);
}

nlohmann::json common_body(const ChangeOptions& options) {
    nlohmann::json body = nlohmann::json::object();
    if (!options.resource_version.empty()) body["resourceVersion"] = options.resource_version;
    if (options.dry_run) body["dryRun"] = true;
    if (options.recreate) body["recreate"] = true;
    return body;
}

}  // namespace

aio::Task<int> run_scale(Connection& connection, ChangeOptions options) {
    nlohmann::json body = common_body(options);
    body["replicas"] = *options.replicas;
    const int code =
        co_await send_change(connection, std::move(options), "PATCH", "/scale", std::move(body));
    co_return code;
}

aio::Task<int> run_update(Connection& connection, ChangeOptions options) {
    nlohmann::json body = common_body(options);
    if (options.replicas) body["replicas"] = *options.replicas;
    if (options.image) body["image"] = *options.image;
    if (options.priority) body["priority"] = *options.priority;
    if (options.queue) body["queue"] = *options.queue;
    if (options.description) body["description"] = *options.description;
    const int code =
        co_await send_change(connection, std::move(options), "PATCH", "", std::move(body));
    co_return code;
}

aio::Task<int> run_pause(Connection& connection, ChangeOptions options) {
    nlohmann::json body = common_body(options);
    if (options.release) body["release"] = true;
    const int code =
        co_await send_change(connection, std::move(options), "POST", "/pause", std::move(body));
    co_return code;
}

aio::Task<int> run_resume(Connection& connection, ChangeOptions options) {
    nlohmann::json body = common_body(options);
    const int code =
        co_await send_change(connection, std::move(options), "POST", "/resume", std::move(body));
    co_return code;
}

}  // namespace gpuctl::cli
