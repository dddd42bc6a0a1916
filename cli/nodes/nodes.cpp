#include "cli/nodes/nodes.hpp"

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/listing/kinds.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kJsonBody = "application/json";

Error wrong_words(const std::string& why) {
    return make_error(ErrorCode::ValidationFailed,
                      why +
                          "; write `gpuctl label NODE... KEY=VALUE` or `gpuctl label NODE... KEY "
                          "--delete`");
}

// What became of each node.
struct NodeReport {
    explicit NodeReport(const NodeOptions& of) : options(of) {}

    void add(const std::string& node, const Result<Reply>& reply) {
        Json entry{{"node", node}, {"operation", operation()}};
        if (options.action == "label") entry["label"] = options.label;
        if (!options.pool.empty()) entry["pool"] = options.pool;
        entry["success"] = reply.has_value();
        if (reply) {
            ++done;
            entry["message"] = text_of(reply->body, "message");
            if (const Json label = reply->body.value("label", Json{}); label.is_object())
                entry["label"] = text_of(label, "key") + "=" + text_of(label, "value");
            if (options.format == Format::table)
                std::cout << printable(text_of(entry, "message")) << '\n';
            for (const Json& warning : reply->body.value("warnings", Json::array())) {
                if (warning.is_string())
                    std::cerr << "warning: " << printable(warning.get<std::string>()) << '\n';
            }
            objects.push_back(reply->body);
        } else {
            exit_code = wire::row_of(reply.error().code).exit_code;
            ++failed;
            entry["message"] = reply.error().message;
            entry["error"] = to_string(reply.error().code);
            if (!is_document(options.format)) report(reply.error(), options.format, node);
            objects.push_back(error_json(reply.error(), node));
        }
        rows.push_back(std::move(entry));
    }
    int finish() const {
        if (is_document(options.format))
            print_document(std::cout, options.is_short_form ? rows : objects, options.format);
        return done > 0 && failed > 0 ? kPartialFailure : exit_code;
    }
    [[nodiscard]] std::string operation() const {
        if (options.action != "label") return options.action;
        return options.deletes ? "delete" : "add";
    }

    const NodeOptions& options;
    Json rows = Json::array();     // the short form
    Json objects = Json::array();  // as REST has them
    int done = 0;
    int failed = 0;
    int exit_code = 0;
};

std::string path_of(const std::string& node, const std::string& rest) {
    return "/api/v1/nodes/" + net::percent_encode(node) + rest;
}

// [{key, value}], for the formats of lists.
Json label_items(const Json& labels) {
    Json items = Json::array();
    for (const auto& [key, value] : labels.items()) {
        items.push_back({{"key", key}, {"value", value}});
    }
    return items;
}

}  // namespace

Result<void> read_label_words(NodeOptions& options) {
    std::vector<std::string> words = options.words;
    if (!words.empty() && (words.front() == "node" || words.front() == "nodes"))
        words.erase(words.begin());
    auto label = words.end();
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (word->find('=') == word->npos) continue;
        if (label != words.end())
            return wrong_words("two labels are given, " + *label + " and " + *word);
        label = word;
    }
    if (options.deletes && label != words.end())
        return wrong_words("--delete takes a key, not " + *label);
    if (options.deletes && !words.empty()) label = words.end() - 1;
    if (label == words.end()) return wrong_words("no label is given");
    options.label = *label;
    words.erase(label);
    if (words.empty()) return wrong_words("no node is given");
    options.nodes = std::move(words);
    return {};
}

aio::Task<int> run_label(Connection& connection, NodeOptions options) {
    options.action = "label";
    NodeReport results{options};
    const std::size_t equals = options.label.find('=');
    for (const std::string& node : options.nodes) {
        if (options.deletes) {
            const std::string target =
                path_of(node, "/labels/" + net::percent_encode(options.label));
            const Result<Reply> reply = co_await connection.call("DELETE", target, "", "");
            results.add(node, reply);
            continue;
        }
        const Json body{{"key", options.label.substr(0, equals)},
                        {"value", options.label.substr(equals + 1)},
                        {"overwrite", options.overwrite}};
        const std::string text = body.dump();
        const std::string target = path_of(node, "/labels");
        const Result<Reply> reply = co_await connection.call("POST", target, text, kJsonBody);
        results.add(node, reply);
    }
    co_return results.finish();
}

aio::Task<int> run_get_labels(Connection& connection, NodeOptions options) {
    const Format format = options.output.format;
    const std::string& node = options.nodes.front();
    const std::string rest =
        "/labels" + (options.key.empty() ? "" : "/" + net::percent_encode(options.key));
    const std::string target = path_of(node, rest);
    const ListedKind& kind = listed_kind("labels of the node");
    if (const auto bad = problem_with(kind, options.output)) {
        report(*bad, format);
        co_return 2;
    }
    const Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), format);
    const bool is_one = !options.key.empty();
    const Json of_one = reply->body.value("label", Json::object());
    Json labels = reply->body.value("labels", Json::object());
    if (is_one) labels = Json{{text_of(of_one, "key"), text_of(of_one, "value")}};
    if (is_document(format)) {
        print_document(std::cout, options.output.is_short_form ? labels : reply->body, format);
        co_return 0;
    }
    if (format != Format::table && format != Format::wide) {
        const Json list{{"items", label_items(labels)}};
        print_list(std::cout, kind, list, options.output);
        co_return 0;
    }
    const std::string prefix = text_of(reply->body, "prefix") + "/";
    if (!is_one && options.output.has_header) {
        std::cout << "Labels of node " << printable(node) << ":\n";
    }
    for (const auto& [key, value] : labels.items()) {
        const bool is_shown = is_one || format == Format::wide || key.starts_with(prefix);
        if (!is_shown) continue;
        std::cout << printable(key) << ": " << printable(text_of(labels, key)) << '\n';
    }
    co_return 0;
}

aio::Task<int> run_on_nodes(Connection& connection, NodeOptions options) {
    NodeReport results{options};
    for (const std::string& node : options.nodes) {
        std::string method = "POST";
        std::string rest = "/" + options.action;
        std::string body;
        std::string type;
        if (options.action == "add") {
            rest = "/pools";
            body = Json{{"pool", options.pool}, {"move", options.moves}}.dump();
            type = kJsonBody;
        } else if (options.action == "remove") {
            method = "DELETE";
            rest = "/pools/" + net::percent_encode(options.pool);
        }
        const std::string target = path_of(node, rest);
        const Result<Reply> reply = co_await connection.call(method, target, body, type);
        results.add(node, reply);
    }
    co_return results.finish();
}

bool is_gpu_type_label(std::string_view text) {
    const std::size_t slash = text.rfind('/');
    if (slash != text.npos) text.remove_prefix(slash + 1);
    return text == "gpu-type" || text == "gpuType";
}

}  // namespace gpuctl::cli
