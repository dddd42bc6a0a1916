// Pools, quotas, queues and namespaces in files.

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/policy/policy.hpp"
#include "scheduler/base/ascii.hpp"
#include "wire/job/document.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

// One stream, with each document in the lines that it has in its file.
std::string stream_of(const std::vector<DocumentPart>& parts) {
    std::string text;
    for (const DocumentPart& part : parts) {
        if (text.empty()) {
            text = part.text;
            continue;
        }
        if (!text.ends_with('\n')) text += '\n';
        const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        const std::size_t begin = std::min(part.text.find_first_not_of('\n'), part.text.size());
        if (lines + 1 < begin) text.append(begin - lines - 1, '\n');
        text += "---\n" + part.text.substr(begin);
    }
    return text;
}

std::string name_of(const nlohmann::json& result) {
    const std::string kind = text_of(result, "kind");
    const std::string name = text_of(result, "name");
    if (kind == "queue") return kind + "/" + text_of(result, "pool") + "/" + name;
    if (kind == "quota") return kind + "/" + text_of(result, "namespace", name);
    return kind + "/" + name;
}

// Only the kind matters here: the server reads the rest.
bool is_of_kind(const DocumentPart& part, std::initializer_list<std::string_view> kinds) {
    const Result<std::vector<wire::Document>> documents = wire::parse_yaml(part.text);
    if (!documents || documents->size() != 1) return false;
    const nlohmann::json& root = documents->front().root;
    if (!root.is_object() || root.contains("apiVersion")) return false;
    const std::string kind = lower_case(text_of(root, "kind"));
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

bool is_policy_document(const DocumentPart& part) {
    return is_of_kind(part, {"pool", "resource", "quota", "queue", "namespace", "ns"});
}

bool needs_confirmation(const DocumentPart& part) {
    return is_of_kind(part, {"quota", "namespace", "ns"});
}

std::vector<DocumentPart> take_policy_documents(std::vector<DocumentPart>& parts) {
    std::vector<DocumentPart> taken;
    std::vector<DocumentPart> left;
    for (DocumentPart& part : parts) {
        (is_policy_document(part) ? taken : left).push_back(std::move(part));
    }
    parts = std::move(left);
    return taken;
}

aio::Task<Result<PolicyAnswer>> send_policy_documents(Connection& connection, PolicyFile how,
                                                      std::vector<DocumentPart> parts) {
    if (parts.empty()) co_return PolicyAnswer{};
    const std::string target = "/api/v1/policy" + query({{"mode", how.mode},
                                                         {"strict", how.strict ? "true" : ""},
                                                         {"dryRun", how.dry_run ? "true" : ""},
                                                         {"force", how.force ? "true" : ""}});
    std::string body = stream_of(parts);
    Result<Reply> reply =
        co_await connection.call("POST", target, std::move(body), "application/yaml");
    if (!reply) {
        Error refused = reply.error();
        // Which one of several files; details are printed with it anyway.
        if (refused.details.empty()) refused.message = parts.front().file + ": " + refused.message;
        co_return refused;
    }
    PolicyAnswer answer;
    answer.results = reply->body.value("results", nlohmann::json::array());
    answer.warnings = reply->body.value("warnings", nlohmann::json::array());
    co_return answer;
}

void print_policy_answer(const std::string& file, const PolicyAnswer& answer, Format format) {
    if (is_document(format)) return;
    print_warnings(file, {{"warnings", answer.warnings}});
    for (const auto& result : answer.results) {
        std::cout << printable(format == Format::name ? name_of(result)
                                                      : text_of(result, "message"))
                  << '\n';
    }
}

bool is_confirmed(const std::string& question) {
    std::cerr << printable(question) << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y";
}

}  // namespace gpuctl::cli
