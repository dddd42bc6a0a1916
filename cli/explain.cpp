#include <iostream>

#include "cli/commands.hpp"

namespace gpuctl::cli {
namespace {

void print_blocker(std::size_t number, const nlohmann::json& blocker) {
    std::cout << "  " << number << ". " << printable(text_of(blocker, "sentence")) << "  ["
              << printable(text_of(blocker, "reason")) << "]\n";
    const auto tallies = blocker.find("nodes");
    if (tallies == blocker.end() || !tallies->is_array()) return;
    for (const auto& tally : *tallies) {
        std::cout << "       " << number_of(tally, "nodes") << " of "
                  << number_of(blocker, "nodesTotal")
                  << " nodes: " << printable(text_of(tally, "message")) << '\n';
    }
}

}  // namespace

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
    std::cout << "job " << printable(text_of(body, "namespace")) << '/'
              << printable(text_of(body, "jobId")) << " is " << printable(text_of(body, "status"));
    std::cout << " in queue " << printable(text_of(body, "queue")) << " of pool "
              << printable(text_of(body, "pool"));
    if (const auto position = body.value("position", std::int64_t{0}); position > 0) {
        std::cout << ", number " << position << " in line";
    }
    std::cout << '\n';
    const nlohmann::json blockers = body.value("blockers", nlohmann::json::array());
    if (blockers.empty()) {
        std::cout << "Nothing keeps it from running.\n";
        co_return 0;
    }
    std::cout << "What keeps it waiting:\n";
    for (std::size_t i = 0; i < blockers.size(); ++i) print_blocker(i + 1, blockers[i]);
    co_return 0;
}

}  // namespace gpuctl::cli
