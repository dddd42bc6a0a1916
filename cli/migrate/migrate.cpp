#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/migrate/label_moves.hpp"
#include "cli/nodes/nodes.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

struct NodeNames {
    std::vector<std::string> names;
};

aio::Task<Result<NodeNames>> read_node_names(Connection& connection) {
    NodeNames nodes;
    for (int page = 1;; ++page) {
        const std::string address = "/api/v1/nodes?page=" + std::to_string(page) + "&pageSize=100";
        Result<Reply> reply = co_await connection.get(address);
        if (!reply) co_return reply.error();
        const nlohmann::json items = reply->body.value("items", nlohmann::json::array());
        for (const nlohmann::json& item : items) nodes.names.push_back(text_of(item, "nodeName"));
        const auto total = reply->body.value("total", std::size_t{0});
        if (items.empty() || nodes.names.size() >= total) co_return nodes;
    }
}

struct Moves {
    std::vector<LabelMove> list;
};

aio::Task<Result<Moves>> read_moves(Connection& connection) {
    const Result<NodeNames> nodes = co_await read_node_names(connection);
    if (!nodes) co_return nodes.error();
    Moves moves;
    for (const std::string& node : nodes->names) {
        const std::string address = "/api/v1/nodes/" + net::percent_encode(node) + "/labels";
        const Result<Reply> reply = co_await connection.get(address);
        if (!reply) co_return reply.error();
        const nlohmann::json labels = reply->body.value("labels", nlohmann::json::object());
        const std::string prefix = text_of(reply->body, "prefix");
        for (LabelMove& move : plan_label_moves(node, labels, prefix)) {
            moves.list.push_back(std::move(move));
        }
    }
    co_return moves;
}

void print_moves(const std::vector<LabelMove>& moves, Format format) {
    if (is_document(format)) {
        nlohmann::json rows = nlohmann::json::array();
        for (const LabelMove& move : moves) {
            rows.push_back({{"node", move.node},
                            {"from", move.from},
                            {"to", move.to},
                            {"value", move.value},
                            {"action", move.action}});
        }
        print_document(std::cout, rows, format);
        return;
    }
    Table table{{"NODE", "OLD LABEL", "NEW LABEL", "VALUE", "ACTION"}};
    for (const LabelMove& move : moves) {
        table.add_row({move.node, move.from, move.to, move.value, move.action});
    }
    table.print(std::cout);
}

}  // namespace

// Old labels stay: gpuctl reads them, and a label with the present prefix wins over them. So the
// command may be repeated, and an older gpuctld still works.
aio::Task<int> run_migrate(Connection& connection, NodeOptions options) {
    Result<Moves> moves = co_await read_moves(connection);
    if (!moves) co_return report(moves.error(), options.format);
    int done = 0;
    int failed = 0;
    int exit_code = 0;
    for (LabelMove& move : moves->list) {
        if (options.is_dry_run || move.action != "add") continue;
        const std::string target = "/api/v1/nodes/" + net::percent_encode(move.node) + "/labels";
        const nlohmann::json body{{"key", move.to}, {"value", move.value}};
        const std::string text = body.dump();
        const std::string type = "application/json";
        const Result<Reply> reply = co_await connection.call("POST", target, text, type);
        if (reply) {
            ++done;
            move.action = "added";
            continue;
        }
        ++failed;
        move.action = "failed";
        exit_code = wire::row_of(reply.error().code).exit_code;
        if (!is_document(options.format)) report(reply.error(), options.format, move.node);
    }
    print_moves(moves->list, options.format);
    co_return done > 0 && failed > 0 ? kPartialFailure : exit_code;
}

}  // namespace gpuctl::cli
