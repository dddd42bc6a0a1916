// get and describe.

#include <array>
#include <utility>

#include "cli/grammar/parts.hpp"
#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

// The examples of `get KIND --help`.
const char* examples_of(std::string_view kind) {
    constexpr std::array<std::pair<std::string_view, const char*>, 5> examples{{
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
         "  gpuctl get pools -o 'jsonpath={.items[*].name}'"},
        {"nodes",
         "Examples:\n"
         "  gpuctl get nodes --pool training\n"
         "  gpuctl get nodes -l 'zone in (a,b),!spot' -o name\n"
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
    }};
    for (const auto& [name, text] : examples) {
        if (name == kind) return text;
    }
    return "";
}

void add_list_output(CLI::App& command, CommandLine& line) {
    add_output(command, line, kEvery);
    command
        .add_option("--sort-by", line.get.output.sort_by,
                    "a column, or a path of the object (.gpuFree)")
        ->group("Output");
    command.add_flag("--no-headers", line.no_headers, "no header above the rows")->group("Output");
    command
        .add_flag("-w,--watch", line.get.watch,
                  "keep printing rows that change; asks every 2 seconds")
        ->group("Output");
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

void add_get_kind(CLI::App& get, CommandLine& line, const std::string& kind,
                  const std::string& meaning) {
    CLI::App* command = get.add_subcommand(kind, meaning);
    command->alias(kind.substr(0, kind.size() - 1));
    command->footer(examples_of(kind));
    if (kind != "events") command->add_option("NAME", line.get.name, meaning_of_name(kind));
    if (kind != "pools" && kind != "events") {
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
            ->add_option("-l,--selector", line.get.selector,
                         "only with these labels: a=b, a!=b, a in (b,c), a, !a")
            ->group("Selection");
    }
    add_list_output(*command, line);
    command->callback([&line, kind] {
        line.get.kind = kind;
        if (kind == "jobs" && !line.get.name.empty()) set_job(line, line.get.name);
        if (kind != "jobs") line.get.name = without_kind(line.get.name, kind);
        if (!line.get.job.empty()) set_job(line, line.get.job);
        line.get.output = list_output_of(line);
        line.verb = [&line](Connection& c) { return run_get(c, line.get); };
    });
}

}  // namespace

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
    add_get_kind(*get, line, "jobs", "jobs, a row per pod");
    add_get_kind(*get, line, "pools", "pools with their GPUs");
    add_get_kind(*get, line, "nodes", "nodes with their GPUs");
    add_get_kind(*get, line, "queues", "queues with weights, limits and GPUs held");
    add_get_kind(*get, line, "events", "what happened to jobs, newest first");
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
