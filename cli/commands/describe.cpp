#include <algorithm>
#include <cctype>
#include <iostream>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/jobs/access.hpp"
#include "text/duration.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::cli {
namespace {

void line(std::string_view title, const std::string& value) {
    if (value.empty()) return;
    std::string padded{title};
    padded += ':';
    padded.resize(std::max<std::size_t>(padded.size() + 1, 16), ' ');
    std::cout << padded << printable(value) << '\n';
}

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

void print_events(const nlohmann::json& events) {
    if (!events.is_array() || events.empty()) return;
    std::cout << "Events (newest first):\n";
    Table table{{"  AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"}};
    for (const auto& event : events) {
        const std::int64_t age = seconds_since(text_of(event, "time"), aio::Loop::wall_ms());
        table.add_row({"  " + (age < 0 ? text_of(event, "age", "-") : text::format_age(age)),
                       text_of(event, "type"), text_of(event, "reason"), text_of(event, "object"),
                       text_of(event, "message")});
    }
    table.print(std::cout);
}

void print_job(const nlohmann::json& job) {
    line("Name", text_of(job, "name"));
    line("Namespace", text_of(job, "namespace"));
    line("Kind", text_of(job, "kind"));
    line("Status", text_of(job, "status"));
    line("Ready", text_of(job, "ready"));
    if (const std::string size = text_of(job, "size"); !size.empty()) line("Size", size);
    if (const std::string roles = roles_of(job); !roles.empty()) line("Roles", roles);
    line("Pool", text_of(job, "pool"));
    line("Queue", text_of(job, "queue"));
    line("Priority", text_of(job, "priority"));
    line("Created", age_since(job, "createdAt"));
    line("Started", age_since(job, "startedAt"));
    line("Finished", age_since(job, "finishedAt"));
    line("Why", text_of(job, "message"));
    line("Not stored", text_of(job, "notStored"));
    const nlohmann::json resources = job.value("resources", nlohmann::json::object());
    std::string requested;
    for (const auto& [key, value] : resources.items()) {
        if (value.is_null() || value == "") continue;
        requested += (requested.empty() ? "" : ", ") + key + " " +
                     (value.is_string() ? value.get<std::string>() : value.dump());
    }
    line("Resources", requested);
    const nlohmann::json waiting = job.value("waiting", nlohmann::json::object());
    if (waiting.is_object() && !waiting.empty()) {
        line("Waiting because", text_of(waiting, "sentence"));
        if (job.value("position", std::int64_t{0}) > 0) {
            line("Queue position", number_of(job, "position"));
            line("Starts", start_words(job, aio::Loop::wall_ms()));
        }
    }
    print_pods(job.value("pods", nlohmann::json::array()));
    print_gpus(job.value("gpus", nlohmann::json::array()));
    print_access(std::cout, job, false);
    print_events(job.value("events", nlohmann::json::array()));
    print_block("YAML", text_of(job, "yamlContent"));
}

// "gpus 8, cpu 64 cores": one level deep, deeper values as JSON.
std::string in_words(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_null() || value.empty()) return "-";
    if (!value.is_structured()) return value.dump();
    std::string text;
    for (const auto& [key, member] : value.items()) {
        text += (text.empty() ? "" : ", ") + (value.is_object() ? key + " " : std::string{}) +
                (member.is_string() ? member.get<std::string>() : member.dump());
    }
    return text;
}

std::string in_capitals(std::string_view text) {
    std::string out;
    for (const char c : text) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

// "GPU free" of the key gpuFree.
std::string title_of(std::string_view key) {
    std::vector<std::string> words{""};
    for (const char c : key) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isupper(letter)) words.emplace_back();
        words.back() += static_cast<char>(std::tolower(letter));
    }
    std::string title;
    for (std::string& word : words) {
        const bool is_short_form =
            word == "gpu" || word == "cpu" || word == "ip" || word == "id" || word == "uid";
        if (is_short_form) word = in_capitals(word);
        title += (title.empty() ? "" : " ") + word;
    }
    if (!title.empty()) title.replace(0, 1, in_capitals(title.substr(0, 1)));
    return title;
}

// A list of equal objects; the columns are the members of the first one, its name first, without
// those that no row has.
void print_list(std::string_view title, const nlohmann::json& list) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : list.front().items()) keys.push_back(key);
    std::erase_if(keys, [&](const std::string& key) {
        return std::all_of(list.begin(), list.end(), [&](const nlohmann::json& row) {
            const std::string text = in_words(row.value(key, nlohmann::json{}));
            return text.empty() || text == "-";
        });
    });
    std::stable_partition(keys.begin(), keys.end(), [](const auto& key) { return key == "name"; });
    std::vector<std::string> headers;
    for (const std::string& key : keys) {
        headers.push_back((headers.empty() ? "  " : "") + in_capitals(title_of(key)));
    }
    std::cout << printable(title) << ":\n";
    Table table{headers};
    for (const auto& element : list) {
        std::vector<std::string> row;
        for (const std::string& key : keys) {
            row.push_back((row.empty() ? "  " : "") +
                          in_words(element.value(key, nlohmann::json{""})));
        }
        table.add_row(std::move(row));
    }
    table.print(std::cout);
}

void print_anything(const nlohmann::json& object) {
    const std::string name = text_of(object, "name");
    line("Name", name);
    for (const auto& [key, value] : object.items()) {
        const bool is_empty =
            value.is_null() || value == "" || (value.is_structured() && value.empty());
        if (key == "name" || is_empty || (key == "nodeName" && value == name)) continue;
        const std::string title = title_of(printable(key));
        if (value.is_array() && value[0].is_object()) {
            print_list(title, value);
        } else {
            line(title, in_words(value));
        }
    }
}

// The pool's queues as `get queues` prints them, without all other figures.
void print_pool(nlohmann::json pool) {
    nlohmann::json queues = nlohmann::json::array();
    if (pool.contains("queues")) queues = std::exchange(pool["queues"], nlohmann::json{});
    pool.erase("queues");
    print_anything(pool);
    std::cout << "Queues:\n";
    print_queues(std::cout, queues, true);
}

// What makes the job: "Job", "Deployment" or "StatefulSet"; a job that was not submitted here has
// pods only.
std::string resource_type_of(const nlohmann::json& job) {
    const std::string kind = text_of(job, "kind");
    if (kind == "training") return "Job";
    if (kind == "notebook") return "StatefulSet";
    return kind == "inference" || kind == "compute" ? "Deployment" : "Pod";
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

}  // namespace

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
        print_pool(std::move(reply->body));
    } else {
        print_anything(reply->body);
    }
    co_return 0;
}

}  // namespace gpuctl::cli
