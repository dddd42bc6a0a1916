#include <iostream>

#include "cli/jobs/access.hpp"
#include "cli/policy/policy.hpp"
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

// Checks across documents (a node in two pools); the server checks each document by itself.
Result<void> check_whole(const std::vector<DocumentPart>& parts) {
    std::vector<wire::Document> documents;
    for (const DocumentPart& part : parts) {
        Result<std::vector<wire::Document>> parsed = wire::parse_yaml(part.text);
        if (!parsed) return {};  // the server reports it, with all other errors
        for (wire::Document& document : *parsed) documents.push_back(std::move(document));
    }
    return wire::check_stream(documents);
}

// The results so far.
struct Tally {
    nlohmann::json results = nlohmann::json::array();  // for --json and -o yaml
    int created = 0;
    int failed = 0;
    int exit_code = 0;

    void refused(const std::string& file, const Error& error, Format format,
                 const std::vector<Detail>& warnings = {}) {
        ++failed;
        exit_code = wire::row_of(error.code).exit_code;
        if (!is_document(format)) {
            report(error, format, file, warnings);
            return;
        }
        nlohmann::json entry = error_json(error, "", warnings);
        entry["file"] = file;
        results.push_back(std::move(entry));
    }
    void made(const std::string& file, const PolicyAnswer& answer) {
        for (const auto& result : answer.results) {
            ++created;
            nlohmann::json entry{{"file", file},
                                 {"kind", text_of(result, "kind")},
                                 {"action", text_of(result, "action")}};
            entry["results"] = nlohmann::json::array({result});
            results.push_back(std::move(entry));
        }
    }
    void made(const std::string& file, const nlohmann::json& body) {
        ++created;
        nlohmann::json entry{{"file", file}, {"kind", text_of(body, "kind")}};
        entry["results"] = nlohmann::json::array({body});
        results.push_back(std::move(entry));
    }
};

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
                              DocumentPart part, Tally& tally) {
    const std::string target =
        "/api/v1/jobs" + query({{"namespace", connection.options().namespace_name},
                                {"strict", options.strict ? "true" : ""},
                                {"dryRun", options.dry_run ? "true" : ""}});
    Result<net::HttpResponse> answer = co_await connection.exchange(
        "POST", target, std::move(part.text), media_type_of(part.file));
    if (!answer) {
        tally.refused(part.file, answer.error(), options.format);
        co_return;
    }
    const Result<Reply> reply = connection.read_answer(*answer);
    if (!reply) {
        tally.refused(part.file, reply.error(), options.format,
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
    tally.made(part.file, reply->body);
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
    Tally tally;
    for (const std::string& file : options.files) {
        Result<std::vector<DocumentPart>> parts = read_documents(file);
        if (!parts) {
            tally.refused(file, parts.error(), options.format);
            continue;
        }
        if (Result<void> whole = check_whole(*parts); !whole) {
            tally.refused(file, whole.error(), options.format);
            continue;
        }
        // Jobs may need these, so they come first; if they are refused, no job is sent.
        const std::vector<DocumentPart> policy = take_policy_documents(*parts);
        const PolicyFile how{"create", options.strict, options.dry_run, false};
        Result<PolicyAnswer> sent = co_await send_policy_documents(connection, how, policy);
        if (!sent) {
            tally.refused(file, sent.error(), options.format);
            continue;
        }
        print_policy_answer(file, *sent, options.format);
        tally.made(file, *sent);
        for (DocumentPart& part : *parts) {
            co_await send_document(connection, options, std::move(part), tally);
        }
    }
    if (is_document(options.format)) print_document(std::cout, tally.results, options.format);
    if (tally.failed > 0 && tally.created > 0) co_return kPartialFailure;
    co_return tally.exit_code;
}

}  // namespace gpuctl::cli
