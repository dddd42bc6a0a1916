// How to reach a job that serves: the block of `describe` and `create`, and `get notebook`.

#include "cli/jobs/access.hpp"

#include <algorithm>
#include <iostream>
#include <regex>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {
namespace {

nlohmann::json part_of(const nlohmann::json& job, const char* name) {
    const nlohmann::json access = job.value("accessMethods", nlohmann::json{});
    return access.is_object() ? access.value(name, nlohmann::json{}) : nlohmann::json{};
}

// The token in the notebook's own arguments or environment; "" if it has none there.
std::string notebook_token(const nlohmann::json& job) {
    const std::string yaml = text_of(job, "yamlContent");
    static const std::regex argument{
        R"((?:NotebookApp|ServerApp|IdentityProvider)\.token=['"]?([A-Za-z0-9._~-]+))"};
    static const std::regex variable{
        R"(JUPYTER_TOKEN['"]?\s*,?\s*(?:value)?\s*:\s*['"]?([A-Za-z0-9._~-]+))"};
    std::smatch found;
    if (std::regex_search(yaml, found, argument)) return found[1];
    return std::regex_search(yaml, found, variable) ? found[1].str() : "";
}

// A pod may run without an address: those of the embedded cluster do.
std::string pod_access(const nlohmann::json& job, const nlohmann::json& pod) {
    const std::string url = text_of(pod, "url");
    if (!url.empty()) return url;
    const std::string port = text_of(pod, "port");
    const nlohmann::json pods = job.value("pods", nlohmann::json::array());
    const bool runs = std::any_of(pods.begin(), pods.end(), [](const nlohmann::json& one) {
        return text_of(one, "status") == "Running";
    });
    return runs ? "port " + port + "; its pods have no address"
                : "initialising, port " + port + " expected";
}

}  // namespace

void print_access(std::ostream& out, const nlohmann::json& job, bool has_curl) {
    const nlohmann::json pod = part_of(job, "podIpAccess");
    if (!pod.is_object()) return;
    const nlohmann::json service = part_of(job, "serviceAccess");
    const nlohmann::json node = part_of(job, "nodePortAccess");
    out << "Access:\n";
    out << "  pod:       " << printable(pod_access(job, pod)) << '\n';
    out << "  service:   " << printable(text_of(service, "url", "-")) << " (inside the cluster)\n";
    const std::string port = text_of(node, "nodePort");
    if (port.empty()) return;
    const std::string url = text_of(node, "url");
    out << "  node port: " << printable(url.empty() ? "port " + port + " of every node" : url)
        << '\n';
    if (has_curl && !url.empty()) out << "  try:       curl " << printable(url) << '\n';
}

nlohmann::json access_row(const nlohmann::json& job) {
    const nlohmann::json pod = part_of(job, "podIpAccess");
    if (!pod.is_object()) return {};
    const nlohmann::json node = part_of(job, "nodePortAccess");
    const auto member = [](const nlohmann::json& object, const char* key) {
        return object.is_object() ? object.value(key, nlohmann::json{}) : nlohmann::json{};
    };
    return {{"pod_ip_access",
             {{"pod_ip", member(pod, "podIp")},
              {"port", member(pod, "port")},
              {"url", member(pod, "url")}}},
            {"node_port_access",
             {{"node_ip", member(node, "nodeIp")},
              {"node_port", member(node, "nodePort")},
              {"url", member(node, "url")}}}};
}

aio::Task<int> run_get_notebook(Connection& connection, NotebookOptions options) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(options.name) +
                               query({{"namespace", connection.options().namespace_name}});
    const Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    const nlohmann::json& job = reply->body;
    if (const std::string kind = text_of(job, "kind"); kind != "notebook") {
        co_return report(make_error(ErrorCode::NotFound, "get notebook " + options.name + ": job " +
                                                             options.name + " is of kind " + kind +
                                                             ", not a notebook; `gpuctl "
                                                             "describe job` shows how to reach it"),
                         options.format);
    }
    if (is_document(options.format)) {
        print_document(std::cout, job.value("accessMethods", nlohmann::json{}), options.format);
        co_return 0;
    }
    std::string url;
    for (const char* part : {"nodePortAccess", "podIpAccess", "serviceAccess"}) {
        if (url.empty()) url = text_of(part_of(job, part), "url");
    }
    const std::string token = notebook_token(job);
    std::cout << printable(url + (token.empty() ? "" : "/?token=" + token)) << '\n';
    if (text_of(job, "status") != "Running") {
        std::cerr << "gpuctl: the notebook is " << printable(text_of(job, "status"))
                  << "; `gpuctl wait " << printable(options.name)
                  << " --for=running` waits for it\n";
    }
    co_return 0;
}

}  // namespace gpuctl::cli
