#include <iostream>

#include "cli/commands/file_results.hpp"
#include "cli/jobs/access.hpp"
#include "wire/job/job_document.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

void print_created(const nlohmann::json& body, bool dry_run) {
    std::cout << printable(text_of(body, "kind", "job")) << ' '
              << printable(text_of(body, "namespace", "default")) << '/'
              << printable(text_of(body, "jobId", text_of(body, "name")))
              << (dry_run ? " would be created" : " created") << " ("
              << printable(text_of(body, "message", text_of(body, "status"))) << ")\n";
}

// A JSON file is parsed as JSON: read as YAML, its `//` comment would be a key.
std::string media_type_of(const std::string& file) {
    return file.ends_with(".json") ? "application/json" : "application/yaml";
}

// Where the job can be reached; its Service exists when the job is acknowledged. A failure is no
// failure of the job.
aio::Task<void> show_access(Connection& connection, std::string namespace_name, std::string name) {
    const std::string target =
        "/api/v1/jobs/" + net::percent_encode(name) + query({{"namespace", namespace_name}});
    const Result<Reply> reply = co_await connection.get(target);
    if (reply) print_access(std::cout, reply->body, true);
}

aio::Task<void> send_document(Connection& connection, const CreateOptions& options,
                              DocumentPart part, FileResults& results) {
    const std::string target =
        "/api/v1/jobs" + query({{"namespace", connection.options().namespace_name},
                                {"strict", options.strict ? "true" : ""},
                                {"dryRun", options.dry_run ? "true" : ""}});
    Result<net::HttpResponse> answer = co_await connection.exchange(
        "POST", target, std::move(part.text), media_type_of(part.file));
    if (!answer) {
        results.refused(part.file, answer.error(), options.format);
        co_return;
    }
    const Result<Reply> reply = connection.read_answer(*answer);
    if (!reply) {
        results.refused(part.file, reply.error(), options.format,
                        wire::warnings_from_response(answer->body));
        co_return;
    }
    if (!is_document(options.format)) print_warnings(part.file, reply->body);
    if (options.format == Format::table) {
        print_created(reply->body, options.dry_run);
        const std::string kind = text_of(reply->body, "kind");
        const bool serves = kind == "inference" || kind == "notebook" || kind == "compute";
        if (serves && !options.dry_run) {
            std::string namespace_name = text_of(reply->body, "namespace", "default");
            std::string name = text_of(reply->body, "jobId", text_of(reply->body, "name"));
            co_await show_access(connection, std::move(namespace_name), std::move(name));
        }
    }
    if (options.format == Format::name) {
        const JobName job{text_of(reply->body, "namespace", "default"),
                          text_of(reply->body, "jobId", text_of(reply->body, "name"))};
        std::cout << printable(typed_name(job)) << '\n';
    }
    results.answered(part.file, reply->body, false);
}

}  // namespace

void print_warnings(const std::string& file, const nlohmann::json& body) {
    if (!body.contains("warnings")) return;
    for (const auto& warning : body["warnings"]) {
        std::cerr << "warning: " << file;
        if (warning.is_string()) {
            std::cerr << ": " << printable(warning.get_ref<const std::string&>()) << '\n';
            continue;
        }
        if (warning.value("line", 0) > 0) {
            std::cerr << ':' << warning["line"] << ':' << warning.value("column", 0);
        }
        std::cerr << ": " << printable(text_of(warning, "message")) << '\n';
    }
}

aio::Task<int> run_create(Connection& connection, CreateOptions options) {
    FileResults results;
    for (const std::string& file : options.files) {
        Result<std::vector<DocumentPart>> parts = read_documents(file);
        if (!parts) {
            results.refused(file, parts.error(), options.format);
            continue;
        }
        if (Result<void> whole = check_whole(*parts); !whole) {
            results.refused(file, whole.error(), options.format);
            continue;
        }
        // Jobs may need these, so they come first; if they are refused, no job is sent.
        const std::vector<DocumentPart> policy = take_policy_documents(*parts);
        const PolicyFile how{"create", options.strict, options.dry_run, false};
        Result<PolicyAnswer> sent = co_await send_policy_documents(connection, how, policy);
        if (!sent) {
            results.refused(file, sent.error(), options.format);
            continue;
        }
        print_policy_answer(file, *sent, options.format);
        results.answered(file, *sent);
        for (DocumentPart& part : *parts) {
            co_await send_document(connection, options, std::move(part), results);
        }
    }
    if (is_document(options.format)) print_document(std::cout, results.results, options.format);
    co_return results.code();
}

}  // namespace gpuctl::cli
