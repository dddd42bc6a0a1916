#include <iostream>

#include "cli/commands.hpp"
#include "daemon/wire/document.hpp"
#include "daemon/wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kPartialFailure = 8;

// The jobs a file declares. Only kind and names matter here, so that a file the server would refuse
// today still names what it created yesterday.
Result<std::vector<JobName>> jobs_in(const std::string& file, const std::string& namespace_name) {
    Result<std::vector<DocumentPart>> parts = read_documents(file);
    if (!parts) return parts.error();
    std::vector<JobName> jobs;
    for (const DocumentPart& part : *parts) {
        Result<std::vector<wire::Document>> documents = wire::parse_yaml(part.text);
        if (!documents) return while_doing("read " + file, documents.error());
        for (const wire::Document& document : *documents) {
            const nlohmann::json job = document.root.is_object()
                                           ? document.root.value("job", nlohmann::json::object())
                                           : nlohmann::json::object();
            const std::string name = text_of(job, "name");
            if (name.empty()) {
                return make_error(ErrorCode::ValidationFailed,
                                  "read " + file + ": a document has no job.name");
            }
            jobs.push_back({text_of(job, "namespace", namespace_name), name});
        }
    }
    return jobs;
}

}  // namespace

aio::Task<int> run_delete(Connection& connection, DeleteOptions options) {
    std::vector<JobName> jobs;
    const std::string namespace_name = connection.options().namespace_name;
    int failed = 0;
    int deleted = 0;
    int exit_code = 0;
    for (const JobName& job : options.jobs) {
        jobs.push_back(
            {job.namespace_name.empty() ? namespace_name : job.namespace_name, job.name});
    }
    for (const std::string& file : options.files) {
        const std::string fallback = namespace_name.empty() ? "default" : namespace_name;
        Result<std::vector<JobName>> declared = jobs_in(file, fallback);
        if (!declared) {
            exit_code = report(declared.error(), options.format, file);
            ++failed;
            continue;
        }
        jobs.insert(jobs.end(), declared->begin(), declared->end());
    }
    nlohmann::json results = nlohmann::json::array();
    for (const JobName& job : jobs) {
        const std::string target =
            "/api/v1/jobs/" + net::percent_encode(job.name) +
            query({{"namespace", job.namespace_name}, {"force", options.force ? "true" : ""}});
        Result<Reply> reply = co_await connection.call("DELETE", target, "", "");
        if (!reply) {
            ++failed;
            const Error& error = reply.error();
            exit_code = wire::row_of(error.code).exit_code;
            if (options.format == Format::json) {
                nlohmann::json entry = error_json(error);
                entry["error"] = error.message;  // contract.md 1.3
                entry["job_name"] = job.name;
                results.push_back(std::move(entry));
            } else {
                report(error, options.format, to_string(job));
            }
            continue;
        }
        ++deleted;
        if (options.format == Format::table) {
            std::cout << "job " << printable(to_string(job)) << ": "
                      << printable(text_of(reply->body, "message", "is being deleted")) << '\n';
        }
        results.push_back({{"status", "success"},
                           {"message", text_of(reply->body, "message")},
                           {"job_name", job.name},
                           {"force", options.force}});
    }
    if (options.format == Format::json && !results.empty()) {
        print_json(std::cout, results.size() == 1 ? results[0] : results);
    }
    if (failed > 0 && deleted > 0) co_return kPartialFailure;
    co_return exit_code;
}

}  // namespace gpuctl::cli
