#include <iostream>

#include "cli/commands.hpp"

namespace gpuctl::cli {
namespace {

void print_blocker(std::ostream& out, std::size_t number, const nlohmann::json& blocker) {
    out << "  " << number << ". " << printable(text_of(blocker, "sentence")) << "  ["
        << printable(text_of(blocker, "reason")) << "]\n";
    const auto tallies = blocker.find("nodes");
    if (tallies == blocker.end() || !tallies->is_array()) return;
    for (const auto& tally : *tallies) {
        out << "       " << number_of(tally, "nodes") << " of " << number_of(blocker, "nodesTotal")
            << " nodes: " << printable(text_of(tally, "message")) << '\n';
    }
}

}  // namespace

void print_explanation(std::ostream& out, const nlohmann::json& body) {
    const std::string queue = text_of(body, "queue");
    out << "job " << printable(text_of(body, "namespace")) << '/'
        << printable(text_of(body, "jobId")) << " is " << printable(text_of(body, "status"))
        << (queue.empty() ? " outside the queues of pool "  // system-critical pods
                          : " in queue " + printable(queue) + " of pool ")
        << printable(text_of(body, "pool"));
    if (const auto position = body.value("position", std::int64_t{0}); position > 0) {
        out << ", number " << position << " in line";
    }
    out << '\n';
    if (const std::string start = start_words(body, aio::Loop::wall_ms()); !start.empty()) {
        out << "It starts: " << start << '\n';
    }
    const nlohmann::json blockers = body.value("blockers", nlohmann::json::array());
    if (blockers.empty()) {
        const std::string summary = printable(text_of(body, "summary"));
        if (!summary.empty()) out << summary << '\n';
        return;
    }
    out << "What keeps it waiting:\n";
    for (std::size_t i = 0; i < blockers.size(); ++i) print_blocker(out, i + 1, blockers[i]);
}

aio::Task<int> run_explain(Connection& connection, ExplainOptions options) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(options.job) + "/explain" +
                               query({{"namespace", connection.options().namespace_name}});
    Result<Reply> reply = co_await connection.get(target);
    if (!reply) co_return report(reply.error(), options.format);
    const nlohmann::json& body = reply->body;
    if (options.format == Format::json) {
        print_json(std::cout, body);
        co_return 0;
    }
    if (options.format == Format::yaml) {
        print_yaml(std::cout, body);
        co_return 0;
    }
    print_explanation(std::cout, body);
    co_return 0;
}

}  // namespace gpuctl::cli
