// get, describe and delete of pools, quotas, queues and namespaces by name.

#include "cli/policy/policy.hpp"

#include <iostream>

#include "cli/commands/describe_parts.hpp"
#include "cli/listing/kinds.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

void describe_quota(const nlohmann::json& item) {
    const nlohmann::json row = quota_row(item);
    describe_line("Name", text_of(row, "name"));
    describe_line("Namespace", text_of(row, "namespace"));
    describe_line("Description", text_of(row, "description"));
    describe_line("Source", text_of(row, "source"));
    describe_line("Status", text_of(row, "status"));
    describe_line("CPU", used_of_quota(row, "cpu"));
    describe_line("Memory", used_of_quota(row, "memory"));
    describe_line("GPU", used_of_quota(row, kGpuOfQuota));
    if (row["used"].contains("pods")) describe_line("Pods", used_of_quota(row, "pods"));
    describe_line("Note", text_of(row, "note"));
}

void describe_namespace(const nlohmann::json& item) {
    describe_line("Name", text_of(item, "name"));
    describe_line("Status", text_of(item, "status"));
    describe_line("Age", age_of("createdAt")(item));
    describe_line("Source", text_of(item, "source"));
    std::string labels;
    const nlohmann::json written = item.value("labels", nlohmann::json::object());
    for (const auto& [key, value] : written.items()) {
        labels += (labels.empty() ? "" : ", ") + key + "=" + value.get<std::string>();
    }
    describe_line("Labels", labels.empty() ? "none" : labels);
    const auto quota = item.find("quota");
    if (quota == item.end() || quota->is_null()) return describe_line("Quota", "none");
    const nlohmann::json row = quota_row(*quota);
    describe_line("Quota", text_of(row, "name"));
    describe_line("CPU", used_of_quota(row, "cpu"));
    describe_line("Memory", used_of_quota(row, "memory"));
    describe_line("GPU", used_of_quota(row, kGpuOfQuota));
    if (row["used"].contains("pods")) describe_line("Pods", used_of_quota(row, "pods"));
    describe_line("Note", text_of(row, "note"));
}

nlohmann::json short_shape(const std::string& kind, const nlohmann::json& item) {
    if (kind == "quota") return quota_row(item);
    return kind == "namespace" ? namespace_row(item) : item;
}

// "POOL/NAME" or --pool; the pool default otherwise.
std::string address_of(const PolicyOptions& options, const std::string& name) {
    std::string pool = options.pool;
    std::string own = name;
    if (const std::size_t slash = name.find('/');
        options.kind == "queue" && slash != std::string::npos) {
        pool = name.substr(0, slash);
        own = name.substr(name.rfind('/') + 1);
    }
    return "/api/v1/" + options.kind + "s/" + net::percent_encode(own) +
           query({{"pool", options.kind == "queue" ? pool : ""},
                  {"force", options.force ? "true" : ""}});
}

std::string question_about(const PolicyOptions& options) {
    std::string names;
    for (const std::string& name : options.names) names += (names.empty() ? "" : ", ") + name;
    if (options.kind == "quota") {
        return "Delete the quota " + names + "? Namespaces and jobs stay.";
    }
    return "Delete the namespace " + names + ", its quota and all its jobs?";
}

nlohmann::json deleted_shape(const std::string& kind, const nlohmann::json& body) {
    if (kind == "quota") {
        return {{"deleted", body.value("deleted", nlohmann::json::array())},
                {"failed", nlohmann::json::array()},
                {"message", text_of(body, "message")}};
    }
    if (kind == "namespace") {
        return {{"status", "success"}, {"message", text_of(body, "message")}};
    }
    return {{"success", true}, {"message", text_of(body, "message")}};
}

}  // namespace

aio::Task<int> run_describe_policy(Connection& connection, PolicyOptions options) {
    const std::string target = address_of(options, options.names.front());
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    if (is_document(options.format)) {
        print_document(std::cout,
                       options.is_short_form ? short_shape(options.kind, reply->body) : reply->body,
                       options.format);
    } else if (options.kind == "quota") {
        describe_quota(reply->body);
    } else if (options.kind == "namespace") {
        describe_namespace(reply->body);
    } else {
        describe_queue(reply->body);
    }
    co_return 0;
}

aio::Task<int> run_delete_policy(Connection& connection, PolicyOptions options) {
    const bool asks = options.kind == "quota" || options.kind == "namespace";
    if (asks && !options.force && !is_document(options.format) &&
        !is_confirmed(question_about(options))) {
        std::cout << "cancelled; nothing was deleted\n";
        co_return 0;
    }
    int done = 0;
    int exit_code = 0;
    nlohmann::json results = nlohmann::json::array();
    for (const std::string& name : options.names) {
        const std::string target = address_of(options, name);
        const Result<Reply> reply = co_await connection.call("DELETE", target, "", "");
        if (!reply) {
            exit_code = wire::row_of(reply.error().code).exit_code;
            if (is_document(options.format)) {
                nlohmann::json entry = error_json(reply.error());
                entry["name"] = name;
                results.push_back(std::move(entry));
            } else {
                (void)report(reply.error(), options.format);
            }
            continue;
        }
        ++done;
        results.push_back(deleted_shape(options.kind, reply->body));
        if (is_document(options.format)) continue;
        std::cout << printable(options.format == Format::name ? options.kind + "/" + name
                                                              : text_of(reply->body, "message"))
                  << '\n';
    }
    if (is_document(options.format)) {
        print_document(std::cout, results.size() == 1 ? results[0] : results, options.format);
    }
    co_return exit_code != 0 && done > 0 ? kPartialFailure : exit_code;
}

}  // namespace gpuctl::cli
