#include "cli/nodes/grammar_nodes.hpp"

#include <cstdint>

#include "cli/commands/job_name.hpp"
#include "cli/grammar/parts.hpp"
#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

void add_node_output(CLI::App& command, CommandLine& line) {
    command.add_flag("--json", line.json, "print one JSON document")->group("Output");
    command.add_option("-o,--output", line.output, "table, json or yaml")
        ->check(one_of({"table", "json", "yaml"}))
        ->group("Output");
}

void take_output(CommandLine& line) {
    line.nodes.format = format_of(line);
    line.nodes.is_short_form = line.json;
}

// The nodes of `add node N...`: a leading literal `node` is no name.
void take_nodes(CommandLine& line, const std::string& command) {
    std::vector<std::string> words = line.nodes.words;
    if (words.front() == "node" || words.front() == "nodes") words.erase(words.begin());
    for (std::string& word : words) word = without_kind(word, "nodes");
    if (words.empty()) throw CLI::ValidationError(command, "give the names of nodes");
    line.nodes.nodes = std::move(words);
}

void add_label(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("label", "set or delete a label of nodes");
    command->footer(
        "Examples:\n"
        "  gpuctl label node-1 gpuType=a100-80g       sets runwhere.ai/gpu-type\n"
        "  gpuctl label node-1 node-2 node-3 zone=a --overwrite\n"
        "  gpuctl label node-1 zone --delete\n"
        "A key without a prefix gets that of gpuctl. `label node NODE KEY=VALUE` and `label node\n"
        "KEY=VALUE NODE` work as well.");
    command->add_option("WORDS", line.nodes.words, "names of nodes, and KEY=VALUE or KEY")
        ->required();
    command->add_flag("--overwrite", line.nodes.overwrite, "also if the label has another value");
    command->add_flag("--delete", line.nodes.deletes, "delete the label with this key");
    add_node_output(*command, line);
    command->callback([&line] {
        if (const auto read = read_label_words(line.nodes); !read)
            throw CLI::ValidationError("label", read.error().message);
        take_output(line);
        line.verb = [&line](Connection& c) { return run_label(c, line.nodes); };
    });
}

// A node alone has its labels below a heading; watched, or of all nodes, they are a list.
void choose_labels(CommandLine& line, const std::string& key) {
    for (const std::string& word : line.nodes.words)
        line.nodes.nodes.push_back(without_kind(word, "nodes"));
    if (!key.empty()) line.nodes.key = key;
    const bool is_list = line.nodes.nodes.empty() || line.get.watch;
    line.nodes.output = list_output_of(line);
    if (!is_list) {
        line.verb = [&line](Connection& c) { return run_get_labels(c, line.nodes); };
        return;
    }
    line.get.kind = line.nodes.key.empty() ? "labels" : "values of the label";
    line.get.key = line.nodes.key;
    if (!line.nodes.nodes.empty()) line.get.name = line.nodes.nodes.front();
    line.get.output = line.nodes.output;
    line.verb = [&line](Connection& c) { return run_get(c, line.get); };
}

void add_get_labels(CLI::App& get, CommandLine& line, const std::string& name,
                    const std::string& alias, const std::string& key) {
    CLI::App* command = get.add_subcommand(
        name, key.empty() ? "labels of one node or of all nodes" : "the GPU type of all nodes");
    if (!alias.empty()) command->alias(alias);
    command->footer(key.empty() ? "Examples:\n"
                                  "  gpuctl get " +
                                      name +
                                      "                          of all nodes\n"
                                      "  gpuctl get " +
                                      name +
                                      " node-1 --key gpu-type\n"
                                      "  gpuctl get " +
                                      name + " node-1 -o wide           also other labels"
                                : "Examples:\n"
                                  "  gpuctl get gpu-type --all\n"
                                  "  gpuctl get gpu-type --sort-by LABEL --no-headers");
    if (key.empty()) {
        command->add_option("NODE", line.nodes.words, "only of this node")->expected(0, 1);
        command->add_option("--key", line.nodes.key, "only this label");
    }
    command->add_flag_function(
        "--all", [](std::int64_t) {}, "of all nodes (the default without NODE)");
    add_list_output(*command, line);
    command->callback([&line, key] { choose_labels(line, key); });
}

CLI::App* add_action(CLI::App& app, CommandLine& line, const std::string& action,
                     const std::string& meaning, const std::string& examples) {
    CLI::App* command = app.add_subcommand(action, meaning);
    command->footer(examples);
    command->add_option("NODE", line.nodes.words, "`node`, then names of nodes")->required();
    add_node_output(*command, line);
    command->callback([&line, action] {
        take_nodes(line, action);
        take_output(line);
        line.nodes.action = action;
        line.verb = [&line](Connection& c) { return run_on_nodes(c, line.nodes); };
    });
    return command;
}

void add_migrate(CLI::App& app, CommandLine& line) {
    CLI::App* command =
        app.add_subcommand("migrate", "write labels of earlier products under the present prefix");
    command->footer(
        "Examples:\n"
        "  gpuctl migrate --dry-run                   lists what would be done\n"
        "  gpuctl migrate\n"
        "  gpuctl migrate --remove-old                also removes the old labels\n"
        "Of nodes, and on Kubernetes of workloads and pods: labels such as g8s.host/gpuType and\n"
        "gpuctl/pool. gpuctl reads them as well; a label with the present prefix wins. ACTION: "
        "add,\n"
        "added, present (it has this value already), differs (it has another value; both stay),\n"
        "remove, removed, kept (the new label could not be added) or failed.");
    command->add_flag("--dry-run", line.nodes.is_dry_run, "change nothing");
    command->add_flag("--remove-old", line.nodes.removes_old,
                      "remove old labels whose present label has the same value; an older gpuctld "
                      "on the same cluster no longer finds them");
    add_node_output(*command, line);
    command->callback([&line] {
        take_output(line);
        line.verb = [&line](Connection& c) { return run_migrate(c, line.nodes); };
    });
}

}  // namespace

void add_node_commands(CLI::App& app, CommandLine& line) {
    add_label(app, line);
    CLI::App* add = add_action(app, line, "add", "add nodes to a pool",
                               "Examples:\n"
                               "  gpuctl add node node-1 node-2 --pool training\n"
                               "  gpuctl add node node-1 --pool training --move   from another "
                               "pool");
    add->add_option("--pool", line.nodes.pool, "the pool")->required();
    add->add_flag("--move", line.nodes.moves, "also if the node is in another pool");
    CLI::App* remove = add_action(app, line, "remove", "remove nodes from a pool",
                                  "Example:\n"
                                  "  gpuctl remove node node-1 --pool training");
    remove->add_option("--pool", line.nodes.pool, "the pool that they are in")->required();
    add_action(app, line, "cordon", "let nodes take no new pods; their pods stay",
               "Example:\n  gpuctl cordon node-1");
    add_action(app, line, "uncordon", "let nodes take pods again; ends a drain",
               "Example:\n  gpuctl uncordon node node-1");
    add_action(app, line, "drain", "cordon nodes and evict their pods",
               "Example:\n"
               "  gpuctl drain node node-1\n"
               "Pods that a controller creates again are evicted as their disruption budgets "
               "allow.\n"
               "Gangs move as a whole. `gpuctl uncordon` ends the drain.");
    add_migrate(app, line);
    CLI::App* get = app.get_subcommand("get");
    get->get_subcommand("nodes")
        ->add_option("--status", line.get.status, "only active, maintaining or faulty nodes")
        ->group("Selection");
    add_get_labels(*get, line, "labels", "label", "");
    add_get_labels(*get, line, "node-labels", "", "");
    add_get_labels(*get, line, "gpu-type", "", "gpu-type");
}

}  // namespace gpuctl::cli
