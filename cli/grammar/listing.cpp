// get and describe.

#include <array>
#include <utility>

#include "cli/grammar/parts.hpp"
#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

// The examples of `get KIND --help`.
const char* examples_of(std::string_view kind) {
    constexpr std::array<std::pair<std::string_view, const char*>, 7> examples{{
        {"jobs",
         "Examples:\n"
         "  gpuctl get jobs --pool training\n"
         "  gpuctl get jobs -o wide                    with pool, queue and the reason to wait\n"
         "  gpuctl get jobs -l priority=high,pool!=test --sort-by AGE\n"
         "  gpuctl get jobs -o columns=NAME:.name,GPUS:.gpuTotal --no-headers\n"
         "  gpuctl get jobs -w                         changes as lines; lists every 2 seconds"},
        {"pools",
         "Examples:\n"
         "  gpuctl get pools -o wide\n"
         "  gpuctl get pools --sort-by .gpuFree\n"
         "  gpuctl get pools --gpu-type A100-80G       those with this GPU model\n"
         "  gpuctl get pools -o 'jsonpath={.items[*].name}'"},
        {"nodes",
         "Examples:\n"
         "  gpuctl get nodes --pool training\n"
         "  gpuctl get nodes -l 'zone in (a,b),!spot' -o name\n"
         "  gpuctl get nodes --label zone              those that have this label\n"
         "  gpuctl get nodes --gpu-type gpu-type       the GPU model of each node\n"
         "  gpuctl get nodes -o csv > nodes.csv"},
        {"queues",
         "Examples:\n"
         "  gpuctl get queues --pool training\n"
         "  gpuctl get queues --json"},
        {"events",
         "Examples:\n"
         "  gpuctl get events                          of all jobs, newest first\n"
         "  gpuctl get events --job team-a/llm-sft\n"
         "  gpuctl get events -n team-a -w"},
        {"quotas",
         "Examples:\n"
         "  gpuctl get quotas\n"
         "  gpuctl get quotas team-a                   of this namespace\n"
         "  gpuctl get quotas --sort-by GPU -o wide"},
        {"namespaces",
         "Examples:\n"
         "  gpuctl get ns\n"
         "  gpuctl get namespaces -o name\n"
         "  gpuctl get ns -o columns=NAME:.name,SOURCE:.source"},
    }};
    for (const auto& [name, text] : examples) {
        if (name == kind) return text;
    }
    return "";
}

void add_job_selection(CLI::App& command, CommandLine& line) {
    command
        .add_option(
            "--kind,--type", line.get.job_kind,
            "only training, inference, notebook or compute; pod: pods not created by gpuctl")
        ->check(one_of({"training", "inference", "notebook", "compute", "pod"}))
        ->group("Selection");
    command.add_option("--status", line.get.status, "only with this status")->group("Selection");
    command.add_option("--queue", line.get.queue, "only of this queue, without its sub-queues")
        ->group("Selection");
    command.add_flag("--summary", line.get.summary, "one row per job instead of per pod")
        ->group("Output");
    command.add_flag("--pods", line.get.pods, "one row per pod (the default)")->group("Output");
    command
        .add_flag("--all-schedulers", line.get.all_schedulers,
                  "also pods that other schedulers placed")
        ->group("Selection");
    add_scope(command, line);
    add_all_namespaces(command, line);
}

std::string meaning_of_name(std::string_view kind) {
    if (kind == "jobs") return "only this job, also NAMESPACE/NAME";
    return kind == "queues" ? "only this queue, also POOL/NAME" : "only this one";
}

// Quotas and namespaces are read one by one.
void add_names(CLI::App& command, CommandLine& line, const std::string& kind) {
    if (kind == "namespaces") {
        command.alias("ns");
        command.add_option("NAME", line.get.names, "only these");
    } else {
        command.add_option("NAME", line.get.names, "only of these namespaces, or of this name");
    }
}

}  // namespace

void add_listed(CLI::App& get, CommandLine& line, const std::string& kind,
                const std::string& meaning) {
    CLI::App* command = get.add_subcommand(kind, meaning);
    command->alias(kind.substr(0, kind.size() - 1));
    command->footer(examples_of(kind));
    const bool is_of_names = kind == "quotas" || kind == "namespaces";
    if (is_of_names) add_names(*command, line, kind);
    if (kind != "events" && !is_of_names) {
        command->add_option("NAME", line.get.name, meaning_of_name(kind));
    }
    if (kind == "jobs" || kind == "nodes" || kind == "queues") {
        command->add_option("--pool", line.get.pool, "only of this pool")->group("Selection");
    }
    if (kind == "jobs") add_job_selection(*command, line);
    if (kind == "events") {
        command->add_option("--job", line.get.job, "only of this job, also NAMESPACE/NAME")
            ->group("Selection");
        add_scope(*command, line, "only of jobs of this namespace [all namespaces]");
        add_all_namespaces(*command, line);
    }
    if (kind == "nodes" || kind == "pools") {
        command
            ->add_option("--gpu-type", line.get.gpu_type, "only " + kind + " with this GPU model")
            ->group("Selection");
    }
    if (kind == "nodes" || kind == "jobs") {
        command
            ->add_option(kind == "nodes" ? "-l,--selector,--label" : "-l,--selector",
                         line.get.selector, "only with these labels: a=b, a!=b, a in (b,c), a, !a")
            ->group("Selection");
    }
    add_list_output(*command, line);
    command->callback([&line, kind] {
        line.get.kind = kind;
        if (kind == "jobs" && !line.get.name.empty()) set_job(line, line.get.name);
        if (kind != "jobs") line.get.name = without_kind(line.get.name, kind);
        for (std::string& name : line.get.names) name = without_kind(name, kind);
        if (!line.get.job.empty()) set_job(line, line.get.job);
        line.get.output = list_output_of(line);
        line.verb = [&line](Connection& c) { return run_get(c, line.get); };
    });
}

void add_get(CLI::App& app, CommandLine& line) {
    CLI::App* get = app.add_subcommand(
        "get", "list jobs, pools, nodes, queues, quotas, namespaces, labels or events");
    get->footer(
        "Examples:\n"
        "  gpuctl get jobs --pool training\n"
        "  gpuctl get jobs -o wide                    with pool, queue and the reason to wait\n"
        "  gpuctl get queues --json\n"
        "-o json and yaml print the objects as REST has them, --json a short form.");
    get->require_subcommand(1);
    add_listed(*get, line, "jobs", "jobs, a row per pod");
    add_listed(*get, line, "pools", "pools with their GPUs");
    add_listed(*get, line, "nodes", "nodes with their GPUs");
    add_listed(*get, line, "queues", "queues with weights, limits and GPUs held");
    add_listed(*get, line, "events", "what happened to jobs, newest first");
    add_listed(*get, line, "quotas", "quotas of namespaces, with what is used of them");
    add_listed(*get, line, "namespaces", "namespaces with jobs, quotas, or made with gpuctl");
    add_get_notebook(*get, line);
}

void add_describe(CLI::App& app, CommandLine& line) {
    CLI::App* describe = app.add_subcommand(
        "describe", "show everything about one job, pool, node, quota, queue or namespace");
    describe->footer(
        "Examples:\n"
        "  gpuctl describe job llm-sft\n"
        "  gpuctl describe job team-a/llm-sft\n"
        "  gpuctl describe pool training");
    describe->require_subcommand(1);
    for (const std::string kind : {"job", "pool", "node"}) {
        CLI::App* command = describe->add_subcommand(kind, "one " + kind);
        command->alias(kind + "s");
        command->footer("Example:\n  gpuctl describe " + kind +
                        (kind == "job"    ? " team-a/llm-sft"
                         : kind == "pool" ? " training"
                                          : " gpu-node-1"));
        command
            ->add_option("NAME", line.describe.name, kind == "job" ? kJobNameMeaning : "its name")
            ->required();
        if (kind == "job") add_scope(*command, line);
        add_output(*command, line, kDocumentsAndWide);
        command->callback([&line, kind] {
            line.describe.kind = kind;
            if (kind == "job") set_job(line, line.describe.name);
            if (kind != "job") line.describe.name = without_kind(line.describe.name, kind);
            line.describe.format = format_of(line);
            line.describe.is_short_form = line.json;
            line.verb = [&line](Connection& c) { return run_describe(c, line.describe); };
        });
    }
}

}  // namespace gpuctl::cli
