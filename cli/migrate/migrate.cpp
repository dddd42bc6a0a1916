#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/migrate/label_moves.hpp"
#include "cli/nodes/nodes.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

bool is_same(const LabelMove& a, const LabelMove& b) {
    const auto step = [](const LabelMove& move) {
        return move.action == "remove" || move.action == "removed";
    };
    return a.kind == b.kind && a.namespace_name == b.namespace_name && a.name == b.name &&
           a.from == b.from && step(a) == step(b);
}

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

aio::Task<Result<Moves>> read_moves(Connection& connection, bool removes_old) {
    const Result<NodeNames> nodes = co_await read_node_names(connection);
    if (!nodes) co_return nodes.error();
    Moves moves;
    for (const std::string& node : nodes->names) {
        const std::string address = "/api/v1/nodes/" + net::percent_encode(node) + "/labels";
        const Result<Reply> reply = co_await connection.get(address);
        if (!reply) co_return reply.error();
        const nlohmann::json labels = reply->body.value("labels", nlohmann::json::object());
        const std::string prefix = text_of(reply->body, "prefix");
        for (LabelMove& move : plan_label_moves(node, labels, prefix, removes_old)) {
            moves.list.push_back(std::move(move));
        }
    }
    co_return moves;
}

// One label of a node: added, or the old one removed.
aio::Task<Result<Reply>> change_node_label(Connection& connection, LabelMove move) {
    const std::string labels = "/api/v1/nodes/" + net::percent_encode(move.name) + "/labels";
    const std::string type = "application/json";
    if (move.action == "remove") {
        const std::string address = labels + "/" + move.from + "?asWritten=true";
        const std::string nothing;
        Result<Reply> reply = co_await connection.call("DELETE", address, nothing, type);
        co_return reply;
    }
    const nlohmann::json body{{"key", move.to}, {"value", move.value}};
    const std::string text = body.dump();
    Result<Reply> reply = co_await connection.call("POST", labels, text, type);
    co_return reply;
}

struct Tally {
    int done = 0;
    int failed = 0;
    int exit_code = 0;
};

void note_failure(LabelMove& move, const Error& error, const NodeOptions& options, Tally& tally) {
    ++tally.failed;
    move.action = "failed";
    move.message = error.message;
    tally.exit_code = wire::row_of(error.code).exit_code;
    if (!is_document(options.format)) report(error, options.format, move.name);
}

// The old label stays where the new one could not be added.
aio::Task<Tally> change_nodes(Connection& connection, std::vector<LabelMove>& moves,
                              const NodeOptions& options) {
    Tally tally;
    const LabelMove* before = nullptr;
    for (LabelMove& move : moves) {
        const LabelMove* const same = std::exchange(before, &move);
        if (move.action != "add" && move.action != "remove") continue;
        if (move.action == "remove" && same != nullptr && same->action == "failed") {
            move.action = "kept";
            continue;
        }
        const Result<Reply> reply = co_await change_node_label(connection, move);
        if (!reply) {
            note_failure(move, reply.error(), options, tally);
            continue;
        }
        ++tally.done;
        move.action = move.action == "add" ? "added" : "removed";
    }
    co_return tally;
}

// Adds what gpuctld says of the objects of one request; the number of labels that it changed.
int take_objects(const nlohmann::json& body, std::vector<LabelMove>& moves, Tally& tally) {
    int changed = 0;
    for (const nlohmann::json& item : body.value("items", nlohmann::json::array())) {
        LabelMove move{text_of(item, "kind"),  text_of(item, "namespace"), text_of(item, "name"),
                       text_of(item, "from"),  text_of(item, "to"),        text_of(item, "value"),
                       text_of(item, "action")};
        move.message = text_of(item, "message");
        if (move.action == "added" || move.action == "removed") ++changed;
        if (move.action == "failed") ++tally.failed;
        moves.push_back(std::move(move));
    }
    tally.done += changed;
    return changed;
}

// gpuctld changes a number of objects at a time.
aio::Task<Result<Tally>> change_objects(Connection& connection, std::vector<LabelMove>& moves,
                                        const NodeOptions& options) {
    Tally tally;
    std::string address = "/api/v1/labels/migrate?dryRun=";
    address += options.is_dry_run ? "true" : "false";
    address += options.removes_old ? "&removeOld=true" : "&removeOld=false";
    const std::string nothing;
    const std::string type = "application/json";
    const std::size_t first = moves.size();
    while (true) {
        const Result<Reply> reply = co_await connection.call("POST", address, nothing, type);
        if (!reply) co_return reply.error();
        // An object that is done is listed again, and only the last word about it counts.
        std::vector<LabelMove> now;
        const int changed = take_objects(reply->body, now, tally);
        std::erase_if(now, [&](const LabelMove& move) {
            return std::any_of(moves.begin() + static_cast<std::ptrdiff_t>(first), moves.end(),
                               [&](const LabelMove& old) { return is_same(move, old); });
        });
        moves.insert(moves.end(), now.begin(), now.end());
        if (!reply->body.value("more", false) || changed == 0) co_return tally;
    }
}

std::string object_name(const LabelMove& move) {
    return move.kind + " " + (move.namespace_name.empty() ? "" : move.namespace_name + "/") +
           move.name;
}

void print_moves(const std::vector<LabelMove>& moves, Format format) {
    if (is_document(format)) {
        nlohmann::json rows = nlohmann::json::array();
        for (const LabelMove& move : moves) {
            nlohmann::json row = {{"kind", move.kind},      {"name", move.name},
                                  {"from", move.from},      {"to", move.to},
                                  {"value", move.value},    {"action", move.action},
                                  {"message", move.message}};
            if (move.kind == "Node") row["node"] = move.name;
            if (!move.namespace_name.empty()) row["namespace"] = move.namespace_name;
            rows.push_back(std::move(row));
        }
        print_document(std::cout, rows, format);
        return;
    }
    Table table{{"OBJECT", "OLD LABEL", "NEW LABEL", "VALUE", "ACTION"}};
    for (const LabelMove& move : moves) {
        table.add_row({object_name(move), move.from, move.to, move.value, move.action});
    }
    table.print(std::cout);
    for (const LabelMove& move : moves) {
        if (move.kind == "Node" || move.message.empty()) continue;
        std::cerr << "Error: change the labels of " << object_name(move) << ": " << move.message
                  << "\n";
    }
}

}  // namespace

// Old labels stay, unless they are to be removed: gpuctl reads them, and a label with the present
// prefix wins over them. So the command may be repeated, and an older gpuctld still works.
aio::Task<int> run_migrate(Connection& connection, NodeOptions options) {
    Result<Moves> moves = co_await read_moves(connection, options.removes_old);
    if (!moves) co_return report(moves.error(), options.format);
    Tally nodes;
    if (!options.is_dry_run) nodes = co_await change_nodes(connection, moves->list, options);
    const Result<Tally> objects = co_await change_objects(connection, moves->list, options);
    if (!objects) {
        print_moves(moves->list, options.format);
        co_return report(objects.error(), options.format);
    }
    print_moves(moves->list, options.format);
    const int done = nodes.done + objects->done;
    const int failed = nodes.failed + objects->failed;
    if (failed == 0) co_return 0;
    if (done > 0) co_return kPartialFailure;
    co_return nodes.exit_code != 0 ? nodes.exit_code : 1;
}

}  // namespace gpuctl::cli
