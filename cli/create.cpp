#include <iostream>

#include "cli/commands.hpp"
#include "daemon/wire/job_document.hpp"
#include "daemon/wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kPartialFailure = 8;

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

void print_created(const nlohmann::json& body, bool dry_run) {
    std::cout << printable(text_of(body, "kind", "job")) << ' '
              << printable(text_of(body, "namespace", "default")) << '/'
              << printable(text_of(body, "jobId", text_of(body, "name")))
              << (dry_run ? " would be created" : " created") << " ("
              << printable(text_of(body, "message", text_of(body, "status"))) << ")\n";
}

// What only the whole file shows (a node in two pools); each document by itself is the server's to
// judge.
Result<void> check_whole(const std::vector<DocumentPart>& parts) {
    std::vector<wire::Document> documents;
    for (const DocumentPart& part : parts) {
        Result<std::vector<wire::Document>> parsed = wire::parse_yaml(part.text);
        if (!parsed) return {};  // the server says it better, with what else is wrong
        for (wire::Document& document : *parsed) documents.push_back(std::move(document));
    }
    return wire::check_stream(documents);
}

}  // namespace

aio::Task<int> run_create(Connection& connection, CreateOptions options) {
    nlohmann::json results = nlohmann::json::array();
    int failed = 0;
    int created = 0;
    int exit_code = 0;
    for (const std::string& file : options.files) {
        Result<std::vector<DocumentPart>> parts = read_documents(file);
        if (!parts) {
            exit_code = report(parts.error(), options.format, file);
            ++failed;
            continue;
        }
        if (Result<void> whole = check_whole(*parts); !whole) {
            exit_code = report(whole.error(), options.format, file);
            ++failed;
            continue;
        }
        for (DocumentPart& part : *parts) {
            const std::string target =
                "/api/v1/jobs" + query({{"namespace", connection.options().namespace_name},
                                        {"strict", options.strict ? "true" : ""},
                                        {"dryRun", options.dry_run ? "true" : ""}});
            Result<Reply> reply =
                co_await connection.call("POST", target, std::move(part.text), "application/yaml");
            if (!reply) {
                const Error& error = reply.error();
                ++failed;
                if (options.format == Format::json) {
                    exit_code = wire::row_of(error.code).exit_code;
                    results.push_back({{"file", file},
                                       {"error", to_string(error.code)},
                                       {"message", error.message}});
                } else {
                    exit_code = report(error, options.format, file);
                }
                continue;
            }
            ++created;
            if (options.format == Format::table) {
                print_warnings(file, reply->body);
                print_created(reply->body, options.dry_run);
            }
            nlohmann::json entry{{"file", file}, {"kind", text_of(reply->body, "kind")}};
            entry["results"] = nlohmann::json::array({reply->body});
            results.push_back(std::move(entry));
        }
    }
    if (options.format == Format::json) print_json(std::cout, results);
    if (options.format == Format::yaml) print_yaml(std::cout, results);
    if (failed > 0 && created > 0) co_return kPartialFailure;
    co_return exit_code;
}

}  // namespace gpuctl::cli
