// apply -f and diff -f: jobs and objects of the policy as files want them.

#include <algorithm>
#include <iostream>

#include "cli/commands/file_results.hpp"
#include "wire/job/document.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

// The address of the job of a document. The server refuses what cannot be read, so a document
// without a name has the address "-".
std::string applied_name(const DocumentPart& part) {
    const Result<std::vector<wire::Document>> documents = wire::parse_yaml(part.text);
    if (!documents || documents->size() != 1) return "-";
    const nlohmann::json& root = documents->front().root;
    if (!root.is_object() || !root.contains("job") || !root["job"].is_object()) return "-";
    return text_of(root["job"], "name", "-");
}

std::string action_words(const nlohmann::json& body, bool is_dry_run) {
    const std::string action = text_of(body, "action", "update");
    if (action == "unchanged") return "unchanged";
    const std::string done = action == "create"     ? "created"
                             : action == "recreate" ? "deleted and created again"
                                                    : "updated";
    return is_dry_run ? "would be " + done : done;
}

std::string fields_of(const nlohmann::json& body) {
    std::string out;
    for (const auto& change : body.value("changes", nlohmann::json::array())) {
        out += (out.empty() ? "" : ", ") + text_of(change, "field");
    }
    return out;
}

std::string job_of_answer(const nlohmann::json& body) {
    return printable(text_of(body, "kind", "job")) + ' ' +
           printable(text_of(body, "namespace", "default")) + '/' +
           printable(text_of(body, "jobId", text_of(body, "name")));
}

void print_applied(const nlohmann::json& body, bool is_dry_run) {
    const std::string fields = fields_of(body);
    std::cout << job_of_answer(body) << ' ' << action_words(body, is_dry_run)
              << (fields.empty() ? "" : " (" + printable(fields) + ")") << '\n';
}

std::string shown_value(const nlohmann::json& value) {
    return value.is_string() ? printable(value.get_ref<const std::string&>())
                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "  - environment.image: a" and "  + environment.image: b".
void print_difference(const nlohmann::json& body) {
    const bool is_new = text_of(body, "action") == "create";
    std::cout << job_of_answer(body) << (is_new ? " does not exist yet" : " differs") << ":\n";
    for (const auto& change : body.value("changes", nlohmann::json::array())) {
        const std::string field = printable(text_of(change, "field"));
        const bool is_in_place = change.value("inPlace", true);
        if (!change["from"].is_null())
            std::cout << "  - " << field << ": " << shown_value(change["from"]) << '\n';
        if (!change["to"].is_null())
            std::cout << "  + " << field << ": " << shown_value(change["to"])
                      << (is_in_place ? "" : "   (needs --recreate)") << '\n';
    }
}

void print_answer(const ApplyOptions& options, const std::string& file,
                  const nlohmann::json& body) {
    if (!is_document(options.format)) print_warnings(file, body);
    if (options.is_diff) {
        if (options.format == Format::table && text_of(body, "action") != "unchanged")
            print_difference(body);
        return;
    }
    if (options.format == Format::table) print_applied(body, options.dry_run);
    if (options.format == Format::name) {
        const JobName job{text_of(body, "namespace", "default"),
                          text_of(body, "jobId", text_of(body, "name"))};
        std::cout << printable(typed_name(job)) << '\n';
    }
}

aio::Task<void> apply_document(Connection& connection, const ApplyOptions& options,
                               DocumentPart part, FileResults& applied) {
    const bool is_dry_run = options.dry_run || options.is_diff;
    // A difference is shown whether or not the job could be changed to it.
    const bool is_recreated = options.recreate || options.is_diff;
    const std::string target = "/api/v1/jobs/" + net::percent_encode(applied_name(part)) +
                               query({{"namespace", connection.options().namespace_name},
                                      {"strict", options.strict ? "true" : ""},
                                      {"dryRun", is_dry_run ? "true" : ""},
                                      {"recreate", is_recreated ? "true" : ""}});
    const std::string type = part.file.ends_with(".json") ? "application/json" : "application/yaml";
    Result<net::HttpResponse> answer =
        co_await connection.exchange("PUT", target, std::move(part.text), type);
    if (!answer) {
        applied.refused(part.file, answer.error(), options.format);
        co_return;
    }
    const Result<Reply> reply = connection.read_answer(*answer);
    if (!reply) {
        applied.refused(part.file, reply.error(), options.format,
                        wire::warnings_from_response(answer->body));
        co_return;
    }
    print_answer(options, part.file, reply->body);
    applied.answered(part.file, reply->body);
}

// The pools, quotas, queues and namespaces of a file: all of them, or none (false).
aio::Task<bool> apply_policy(Connection& connection, const ApplyOptions& options, std::string file,
                             std::vector<DocumentPart> policy, FileResults& applied) {
    const bool is_dry_run = options.dry_run || options.is_diff;
    const PolicyFile how{"apply", options.strict, is_dry_run, false};
    const Result<PolicyAnswer> sent =
        co_await send_policy_documents(connection, how, std::move(policy));
    if (!sent) {
        applied.refused(file, sent.error(), options.format);
        co_return false;
    }
    PolicyAnswer shown = *sent;
    if (options.is_diff) {
        const auto is_same = [](const nlohmann::json& result) {
            return text_of(result, "action") == "unchanged";
        };
        auto& results = shown.results.get_ref<nlohmann::json::array_t&>();
        results.erase(std::remove_if(results.begin(), results.end(), is_same), results.end());
    }
    print_policy_answer(file, shown, options.format);
    applied.answered(file, *sent);
    co_return true;
}

bool has_difference(const nlohmann::json& results) {
    return std::any_of(results.begin(), results.end(), [](const nlohmann::json& entry) {
        return text_of(entry, "action") != "unchanged";
    });
}

}  // namespace

aio::Task<int> run_apply(Connection& connection, ApplyOptions options) {
    FileResults applied;
    for (const std::string& file : options.files) {
        Result<std::vector<DocumentPart>> parts = read_documents(file);
        if (!parts) {
            applied.refused(file, parts.error(), options.format);
            continue;
        }
        if (Result<void> whole = check_whole(*parts); !whole) {
            applied.refused(file, whole.error(), options.format);
            continue;
        }
        std::vector<DocumentPart> policy = take_policy_documents(*parts);
        // Jobs may need these: if they are refused, no job of the file is sent.
        if (!policy.empty()) {
            const bool is_applied =
                co_await apply_policy(connection, options, file, std::move(policy), applied);
            if (!is_applied) continue;
        }
        for (DocumentPart& part : *parts) {
            co_await apply_document(connection, options, std::move(part), applied);
        }
    }
    if (is_document(options.format)) print_document(std::cout, applied.results, options.format);
    if (applied.failed == 0 && options.is_diff) co_return has_difference(applied.results) ? 1 : 0;
    co_return applied.code();
}

}  // namespace gpuctl::cli
