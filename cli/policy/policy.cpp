// get, describe and delete of pools, quotas, queues and namespaces by name.

#include "cli/policy/policy.hpp"

#include <iostream>

#include "text/duration.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr const char* kGpuKey = "nvidia.com/gpu";

nlohmann::json amounts(const nlohmann::json& item, const char* member, const char* otherwise) {
    const nlohmann::json of = item.value(member, nlohmann::json::object());
    return {{"cpu", text_of(of, "cpu", otherwise)},
            {"memory", text_of(of, "memory", otherwise)},
            {kGpuKey, text_of(of, "gpu", otherwise)}};
}

// The documents of --json and -o yaml.
nlohmann::json quota_row(const nlohmann::json& item) {
    nlohmann::json hard = amounts(item, "hard", "unlimited");
    nlohmann::json used = amounts(item, "used", "0");
    const nlohmann::json limits = item.value("hard", nlohmann::json::object());
    hard["pods"] = text_of(limits, "pods", "unlimited");
    if (hard["pods"] != "unlimited") {
        used["pods"] = text_of(item.value("used", nlohmann::json::object()), "pods", "0");
    }
    return {{"name", text_of(item, "name")},
            {"namespace", text_of(item, "namespace")},
            {"description", text_of(item, "description")},
            {"source", text_of(item, "source")},
            {"hard", std::move(hard)},
            {"used", std::move(used)},
            {"status", text_of(item, "status")},
            {"note", text_of(item, "note")}};
}

std::string age_of_object(const nlohmann::json& row) {
    const std::int64_t age = seconds_since(text_of(row, "createdAt"), aio::Loop::wall_ms());
    return age < 0 ? text_of(row, "age", "N/A") : text::format_age(age);
}

nlohmann::json namespace_row(const nlohmann::json& item) {
    return {{"name", text_of(item, "name")},
            {"status", text_of(item, "status")},
            {"age", age_of_object(item)},
            {"source", text_of(item, "source")}};
}

std::string used_of(const nlohmann::json& row, const char* key) {
    return text_of(row["used"], key, "0") + "/" + text_of(row["hard"], key, "unlimited");
}

void print_quotas(const nlohmann::json& rows) {
    Table table{{"QUOTA NAME", "NAMESPACE", "CPU", "MEMORY", "GPU", "STATUS"}};
    for (const auto& row : rows) {
        table.add_row({text_of(row, "name"), text_of(row, "namespace"), used_of(row, "cpu"),
                       used_of(row, "memory"), used_of(row, kGpuKey), text_of(row, "status")});
    }
    table.print(std::cout);
}

void print_namespaces(const nlohmann::json& rows) {
    Table table{{"NAME", "STATUS", "AGE"}};
    for (const auto& row : rows) {
        table.add_row({text_of(row, "name"), text_of(row, "status"), text_of(row, "age")});
    }
    table.print(std::cout);
}

void fact(std::string title, const std::string& value) {
    if (value.empty()) return;
    title += ':';
    title.resize(std::max<std::size_t>(title.size() + 1, 16), ' ');
    std::cout << title << printable(value) << '\n';
}

void describe_quota(const nlohmann::json& item) {
    const nlohmann::json row = quota_row(item);
    fact("Name", text_of(row, "name"));
    fact("Namespace", text_of(row, "namespace"));
    fact("Description", text_of(row, "description"));
    fact("Source", text_of(row, "source"));
    fact("Status", text_of(row, "status"));
    fact("CPU", used_of(row, "cpu"));
    fact("Memory", used_of(row, "memory"));
    fact("GPU", used_of(row, kGpuKey));
    if (row["used"].contains("pods")) fact("Pods", used_of(row, "pods"));
    fact("Note", text_of(row, "note"));
}

void describe_namespace(const nlohmann::json& item) {
    fact("Name", text_of(item, "name"));
    fact("Status", text_of(item, "status"));
    fact("Age", age_of_object(item));
    fact("Source", text_of(item, "source"));
    std::string labels;
    const nlohmann::json written = item.value("labels", nlohmann::json::object());
    for (const auto& [key, value] : written.items()) {
        labels += (labels.empty() ? "" : ", ") + key + "=" + value.get<std::string>();
    }
    fact("Labels", labels.empty() ? "none" : labels);
    const auto quota = item.find("quota");
    if (quota == item.end() || quota->is_null()) return fact("Quota", "none");
    const nlohmann::json row = quota_row(*quota);
    fact("Quota", text_of(row, "name"));
    fact("CPU", used_of(row, "cpu"));
    fact("Memory", used_of(row, "memory"));
    fact("GPU", used_of(row, kGpuKey));
    if (row["used"].contains("pods")) fact("Pods", used_of(row, "pods"));
    fact("Note", text_of(row, "note"));
}

nlohmann::json shape_of(const std::string& kind, const nlohmann::json& item) {
    if (kind == "quota") return quota_row(item);
    if (kind != "namespace") return item;
    nlohmann::json row = namespace_row(item);
    if (item.contains("labels")) row["labels"] = item["labels"];
    if (item.contains("quota")) {
        row["quota"] = item["quota"].is_null() ? nlohmann::json{} : quota_row(item["quota"]);
    }
    return row;
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

aio::Task<int> run_list_policy(Connection& connection, PolicyOptions options) {
    constexpr int page_size = 100;
    nlohmann::json rows = nlohmann::json::array();
    for (const std::string& name : options.names) {
        const std::string target = address_of(options, name);
        Result<Reply> reply = co_await connection.get(target);
        if (!reply) co_return report(reply.error(), options.format);
        rows.push_back(shape_of(options.kind, reply->body));
    }
    for (int page = 1; options.names.empty(); ++page) {
        const std::string target = "/api/v1/" + options.kind + "s?page=" + std::to_string(page) +
                                   "&pageSize=" + std::to_string(page_size);
        Result<Reply> reply = co_await connection.get(target);
        if (!reply) co_return report(reply.error(), options.format);
        const nlohmann::json items = reply->body.value("items", nlohmann::json::array());
        for (const auto& item : items) rows.push_back(shape_of(options.kind, item));
        const auto total = reply->body.value("total", std::int64_t{0});
        if (items.empty() || static_cast<std::int64_t>(page) * page_size >= total) break;
    }
    if (is_document(options.format)) {
        print_document(std::cout, rows, options.format);
    } else if (options.format == Format::name) {
        for (const auto& row : rows) {
            std::cout << printable(options.kind + "/" + text_of(row, "name")) << '\n';
        }
    } else if (options.kind == "quota") {
        print_quotas(rows);
    } else {
        print_namespaces(rows);
    }
    if (rows.empty() && options.format == Format::table) {
        std::cerr << "no " << options.kind << "s exist\n";
    }
    co_return 0;
}

aio::Task<int> run_describe_policy(Connection& connection, PolicyOptions options) {
    const std::string target = address_of(options, options.names.front());
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    if (is_document(options.format)) {
        print_document(std::cout, shape_of(options.kind, reply->body), options.format);
    } else if (options.kind == "quota") {
        describe_quota(reply->body);
    } else if (options.kind == "namespace") {
        describe_namespace(reply->body);
    } else {
        print_queues(std::cout, nlohmann::json::array({reply->body}), true);
        fact("Source", text_of(reply->body, "source"));
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
