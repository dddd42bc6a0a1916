#include "cli/policy/grammar_policy.hpp"

#include "cli/grammar/parts.hpp"
#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

void add_policy_output(CLI::App& command, CommandLine& line, bool has_names) {
    std::vector<std::string> formats{"table", "json", "yaml"};
    if (has_names) formats.emplace_back("name");
    command.add_flag("--json", line.json, "print one JSON document")->group("Output");
    command
        .add_option("-o,--output", line.output,
                    has_names ? "table, json, yaml or name" : "table, json or yaml")
        ->check(one_of(formats))
        ->group("Output");
}

using Verb = aio::Task<int> (*)(Connection&, PolicyOptions);

void choose(CLI::App* command, CommandLine& line, const std::string& kind, Verb verb) {
    command->callback([&line, kind, verb] {
        line.policy.is_chosen = true;
        line.policy.kind = kind;
        for (std::string& name : line.policy.names) {
            if (kind == "pool") name = without_kind(name, "pools");
        }
        line.policy.format = format_of(line);
        line.policy.is_short_form = line.json;
        line.verb = [&line, verb](Connection& c) { return verb(c, line.policy); };
    });
}

const char* name_meaning(const std::string& kind) {
    if (kind == "quota") return "name of a quota, or a namespace";
    if (kind == "queue") return "name of the queue, also POOL/NAME";
    return "its name";
}

void add_pool_of_queue(CLI::App* command, CommandLine& line, const std::string& kind) {
    if (kind != "queue") return;
    command->add_option("--pool", line.policy.pool, "pool of the queue [default]")
        ->group("Selection");
}

void add_descriptions(CLI::App& describe, CommandLine& line) {
    for (const std::string kind : {"quota", "namespace", "queue"}) {
        CLI::App* command = describe.add_subcommand(kind, "one " + kind);
        command->alias(kind + "s");
        if (kind == "namespace") command->alias("ns");
        command->footer(kind == "queue"   ? "Examples:\n"
                                            "  gpuctl describe queue training/research\n"
                                            "  gpuctl describe queue research --pool training"
                        : kind == "quota" ? "Example:\n  gpuctl describe quota team-a"
                                          : "Examples:\n"
                                            "  gpuctl describe ns team-a\n"
                                            "  gpuctl describe namespace team-a --json");
        command->add_option("NAME", line.policy.names, name_meaning(kind))->required()->expected(1);
        add_pool_of_queue(command, line, kind);
        add_policy_output(*command, line, false);
        choose(command, line, kind, run_describe_policy);
    }
}

std::string deletion_examples(const std::string& kind) {
    if (kind == "namespace") {
        return "Examples:\n"
               "  gpuctl delete ns team-a                    asks first\n"
               "  gpuctl delete namespace team-a --force";
    }
    if (kind == "quota") {
        return "Examples:\n"
               "  gpuctl delete quota team-a                 asks first\n"
               "  gpuctl delete quota team-a --force";
    }
    return "Examples:\n"
           "  gpuctl delete " +
           kind + (kind == "queue" ? " training/research\n" : " training\n") + "  gpuctl delete " +
           kind + (kind == "queue" ? " training/research" : " training") + " --force";
}

void add_deletions(CLI::App& remove, CommandLine& line) {
    for (const std::string kind : {"pool", "quota", "queue", "namespace"}) {
        const bool asks = kind == "quota" || kind == "namespace";
        CLI::App* command = remove.add_subcommand(
            kind, kind == "namespace" ? "namespaces, with their quotas and jobs"
                  : kind == "quota"   ? "quotas; namespaces and jobs stay"
                                      : kind + "s that no job uses");
        command->alias(kind + "s");
        if (kind == "namespace") command->alias("ns");
        command->footer(deletion_examples(kind));
        command->add_option("NAME", line.policy.names, name_meaning(kind))->required();
        command->add_flag("--force", line.policy.force,
                          asks ? "do not ask" : "also if jobs use it: they wait, or continue");
        add_pool_of_queue(command, line, kind);
        add_policy_output(*command, line, true);
        choose(command, line, kind, run_delete_policy);
    }
}

// `query pools`, as old documents have it.
void add_query(CLI::App& app, CommandLine& line) {
    CLI::App* query = app.add_subcommand("query", "the same as get, for pools");
    query->footer("Example:\n  gpuctl query pools");
    query->require_subcommand(1);
    add_listed(*query, line, "pools", "pools with their GPUs");
}

}  // namespace

void add_policy_commands(CLI::App& app, CommandLine& line) {
    add_descriptions(*app.get_subcommand("describe"), line);
    add_deletions(*app.get_subcommand("delete"), line);
    add_query(app, line);
}

}  // namespace gpuctl::cli
