#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/describe_parts.hpp"
#include "cli/jobs/access.hpp"
#include "text/duration.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::cli {
namespace {

std::string age_since(const nlohmann::json& object, std::string_view key) {
    const std::string time = text_of(object, key);
    const std::int64_t age = seconds_since(time, aio::Loop::wall_ms());
    return age < 0 ? time : time + " (" + text::format_age(age) + " ago)";
}

void print_block(std::string_view title, const std::string& text) {
    if (text.empty()) return;
    std::cout << title << ":\n";
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::cout << "  " << printable(std::string_view{text}.substr(begin, end - begin)) << '\n';
        begin = end + 1;
    }
}

void print_pods(const nlohmann::json& pods) {
    if (!pods.is_array() || pods.empty()) return;
    std::cout << "Pods:\n";
    const bool has_roles = std::any_of(pods.begin(), pods.end(), [](const nlohmann::json& pod) {
        return !text_of(pod, "role").empty();
    });
    std::vector<std::string> headers{"  NAME", "STATUS", "READY", "RESTARTS", "NODE", "RANK"};
    if (has_roles) headers.push_back("ROLE");
    Table table{headers};
    for (const auto& pod : pods) {
        std::vector<std::string> row{"  " + text_of(pod, "name"), text_of(pod, "status"),
                                     text_of(pod, "ready"),       number_of(pod, "restarts"),
                                     text_of(pod, "node", "N/A"), text_of(pod, "rank", "-")};
        if (has_roles) row.push_back(text_of(pod, "role", "-"));
        table.add_row(row);
    }
    table.print(std::cout);
}

// YAML as a value; the text itself if it cannot be read.
nlohmann::json document_of(const std::string& yaml) {
    if (yaml.empty()) return nlohmann::json::object();
    Result<std::vector<wire::Document>> documents = wire::parse_yaml(yaml);
    if (!documents || documents->empty()) return yaml;
    return documents->front().root;
}

// "leader 1/1, worker 2/4": ranks that hold GPUs, of the minimum of each role.
std::string roles_of(const nlohmann::json& job) {
    std::string text;
    for (const auto& role : job.value("roles", nlohmann::json::array())) {
        text += (text.empty() ? "" : ", ") + text_of(role, "name") + " " +
                number_of(role, "ranks") + "/" + number_of(role, "ranksMin");
    }
    return text;
}

void print_gpus(const nlohmann::json& gpus) {
    if (!gpus.is_array() || gpus.empty()) return;
    std::cout << "GPUs:\n";
    Table table{{"  POD", "NODE", "GPU", "DEVICE"}};
    for (const auto& gpu : gpus) {
        table.add_row({"  " + text_of(gpu, "pod"), text_of(gpu, "node"), number_of(gpu, "gpu"),
                       text_of(gpu, "device", "chosen by the kubelet")});
    }
    table.print(std::cout);
}

// What makes the job: "Job", "Deployment" or "StatefulSet"; a job that was not submitted here has
// pods only.
std::string resource_type_of(const nlohmann::json& job) {
    const std::string kind = text_of(job, "kind");
    if (kind == "training") return "Job";
    if (kind == "notebook") return "StatefulSet";
    return kind == "inference" || kind == "compute" ? "Deployment" : "Pod";
}

// "2 desired, 2 current, 1 ready, 1 unavailable" of what keeps pods running; "" of a Job.
std::string replicas_of(const nlohmann::json& job) {
    const std::string ready = text_of(job, "ready");
    const std::size_t slash = ready.find('/');
    const std::string made_by = resource_type_of(job);
    if (slash == std::string::npos || (made_by != "Deployment" && made_by != "StatefulSet")) {
        return "";
    }
    const auto number = [](const std::string& text) {
        return std::int64_t{std::strtoll(text.c_str(), nullptr, 10)};
    };
    const std::int64_t running = number(ready.substr(0, slash));
    const std::int64_t desired = number(ready.substr(slash + 1));
    const std::size_t current = job.value("pods", nlohmann::json::array()).size();
    return std::to_string(desired) + " desired, " + std::to_string(current) + " current, " +
           std::to_string(running) + " ready, " +
           std::to_string(std::max<std::int64_t>(desired - running, 0)) + " unavailable";
}

void print_job(const nlohmann::json& job) {
    describe_line("Name", text_of(job, "name"));
    describe_line("Namespace", text_of(job, "namespace"));
    describe_line("Kind", text_of(job, "kind"));
    describe_line("Resource type", resource_type_of(job));
    describe_line("Status", text_of(job, "status"));
    describe_line("Ready", text_of(job, "ready"));
    describe_line("Replicas", replicas_of(job));
    if (const std::string size = text_of(job, "size"); !size.empty()) describe_line("Size", size);
    if (const std::string roles = roles_of(job); !roles.empty()) describe_line("Roles", roles);
    describe_line("Pool", text_of(job, "pool"));
    describe_line("Queue", text_of(job, "queue"));
    describe_line("Priority", text_of(job, "priority"));
    describe_line("Created", age_since(job, "createdAt"));
    describe_line("Started", age_since(job, "startedAt"));
    describe_line("Finished", age_since(job, "finishedAt"));
    describe_line("Why", text_of(job, "message"));
    describe_line("Not stored", text_of(job, "notStored"));
    const nlohmann::json resources = job.value("resources", nlohmann::json::object());
    std::string requested;
    for (const auto& [key, value] : resources.items()) {
        if (value.is_null() || value == "") continue;
        requested += (requested.empty() ? "" : ", ") + key + " " +
                     (value.is_string() ? value.get<std::string>() : value.dump());
    }
    describe_line("Resources", requested);
    const nlohmann::json waiting = job.value("waiting", nlohmann::json::object());
    if (waiting.is_object() && !waiting.empty()) {
        describe_line("Waiting because", text_of(waiting, "sentence"));
        if (job.value("position", std::int64_t{0}) > 0) {
            describe_line("Queue position", number_of(job, "position"));
            describe_line("Starts", start_words(job, aio::Loop::wall_ms()));
        }
    }
    print_pods(job.value("pods", nlohmann::json::array()));
    print_gpus(job.value("gpus", nlohmann::json::array()));
    print_access(std::cout, job, false);
    describe_events("Events (newest first)", job.value("events", nlohmann::json::array()));
    print_block("YAML", text_of(job, "yamlContent"));
}

// Contract: the snake_case form of a job, with the members that REST has besides.
nlohmann::json job_document(const nlohmann::json& job) {
    nlohmann::json events = nlohmann::json::array();
    for (const auto& event : job.value("events", nlohmann::json::array())) {
        events.push_back({{"age", text_of(event, "age", "-")},
                          {"type", text_of(event, "type")},
                          {"reason", text_of(event, "reason")},
                          {"from", text_of(event, "from")},
                          {"object", text_of(event, "object")},
                          {"message", text_of(event, "message")}});
    }
    const std::int64_t age = seconds_since(text_of(job, "createdAt"), aio::Loop::wall_ms());
    nlohmann::json document = job;
    for (const char* renamed :
         {"jobId", "yamlContent", "accessMethods", "createdAt", "startedAt", "finishedAt"}) {
        document.erase(renamed);
    }
    document.update({{"job_id", text_of(job, "jobId", text_of(job, "name"))},
                     {"age", age < 0 ? text_of(job, "age", "N/A") : text::format_age(age)},
                     {"created", job.value("createdAt", nlohmann::json{})},
                     {"started", job.value("startedAt", nlohmann::json{})},
                     {"completed", job.value("finishedAt", nlohmann::json{})},
                     {"resource_type", resource_type_of(job)},
                     {"resources", job.value("resources", nlohmann::json::object())},
                     {"metrics", job.value("metrics", nlohmann::json::object())},
                     {"yaml_content", document_of(text_of(job, "yamlContent"))},
                     {"events", std::move(events)}});
    const nlohmann::json access = access_row(job);
    if (access.is_object()) document["access_methods"] = access;
    return document;
}

// The start of a waiting job, as `explain` estimates it; the list's estimate is rougher.
aio::Task<nlohmann::json> read_estimated_start(Connection& connection, std::string name,
                                               nlohmann::json listed) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(name) + "/explain" +
                               query({{"namespace", connection.options().namespace_name}});
    Result<Reply> reply = co_await connection.get(target);
    co_return reply ? reply->body.value("estimatedStart", nlohmann::json{}) : listed;
}

// Contract: ten. Those of the newest page that are of pods of the node.
aio::Task<nlohmann::json> read_events_of_pods(Connection& connection, nlohmann::json node) {
    constexpr std::size_t events_max = 10;
    std::set<std::string> pods;
    const nlohmann::json listed = node.value("runningJobs", nlohmann::json::array());
    for (const auto& pod : listed) {
        pods.insert(text_of(pod, "namespace") + " Pod/" + text_of(pod, "name"));
    }
    nlohmann::json events = nlohmann::json::array();
    if (pods.empty()) co_return events;
    const std::string target = "/api/v1/events?page=1&pageSize=100";
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return events;
    const nlohmann::json newest = reply->body.value("items", nlohmann::json::array());
    for (const auto& event : newest) {
        const std::string object = text_of(event, "namespace") + " " + text_of(event, "object");
        if (events.size() < events_max && pods.contains(object)) events.push_back(event);
    }
    co_return events;
}

}  // namespace

void describe_line(std::string_view title, const std::string& value) {
    if (value.empty()) return;
    std::string padded{title};
    padded += ':';
    padded.resize(std::max<std::size_t>(padded.size() + 1, 16), ' ');
    std::cout << padded << printable(value) << '\n';
}

void describe_events(std::string_view title, const nlohmann::json& events) {
    if (!events.is_array() || events.empty()) return;
    std::cout << title << ":\n";
    Table table{{"  AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"}};
    for (const auto& event : events) {
        const std::int64_t age = seconds_since(text_of(event, "time"), aio::Loop::wall_ms());
        table.add_row({"  " + (age < 0 ? text_of(event, "age", "-") : text::format_age(age)),
                       text_of(event, "type"), text_of(event, "reason"), text_of(event, "object"),
                       text_of(event, "message")});
    }
    table.print(std::cout);
}

aio::Task<int> run_describe(Connection& connection, DescribeOptions options) {
    const std::string target =
        "/api/v1/" + options.kind + "s/" + net::percent_encode(options.name) +
        query({{"namespace", options.kind == "job" ? connection.options().namespace_name : ""}});
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    if (is_document(options.format)) {
        const bool is_short = options.is_short_form && options.kind == "job";
        print_document(std::cout, is_short ? job_document(reply->body) : reply->body,
                       options.format);
    } else if (options.kind == "job") {
        nlohmann::json& job = reply->body;
        if (job.value("position", std::int64_t{0}) > 0) {
            job["estimatedStart"] = co_await read_estimated_start(
                connection, options.name, job.value("estimatedStart", nlohmann::json{}));
        }
        print_job(job);
    } else if (options.kind == "pool") {
        describe_pool(reply->body);
    } else {
        const nlohmann::json events = co_await read_events_of_pods(connection, reply->body);
        describe_node(reply->body, events);
    }
    co_return 0;
}

}  // namespace gpuctl::cli
