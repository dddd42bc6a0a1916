#include "cli/grammar.hpp"

#include <utility>

#include "cli/grammar_explain_yaml.hpp"
#include "cli/usage_error.hpp"
#include "cli/version_number.hpp"
#include "wire/log_limits.hpp"

namespace gpuctl::cli {
namespace {

// The other output formats of a command; `-o` offers these and refuses the rest.
using Formats = std::vector<std::string>;
const Formats kJson{"json"};
const Formats kDocuments{"json", "yaml"};
// As in kubectl, wide equals table where there are no further columns.
const Formats kDocumentsAndWide{"json", "yaml", "wide"};
const Formats kDocumentsAndNames{"json", "yaml", "name"};
const Formats kEvery{"json", "yaml", "name", "wide"};

void add_output(CLI::App& command, CommandLine& line, const Formats& formats) {
    Formats all{"table"};
    all.insert(all.end(), formats.begin(), formats.end());
    std::string meaning;
    for (const std::string& format : all) {
        if (!meaning.empty()) meaning += &format == &all.back() ? " or " : ", ";
        meaning += format;
    }
    command.add_flag("--json", line.json, "print one JSON document")->group("Output");
    command.add_option("-o,--output", line.output, meaning)->check(one_of(all))->group("Output");
}

constexpr const char* kWhereLookedFor = "namespace of the job [all namespaces]";
constexpr const char* kWhereMade = "namespace of jobs whose file has none [default]";

void add_scope(CLI::App& command, CommandLine& line, const char* meaning = kWhereLookedFor) {
    command.add_option("-n,--namespace", line.connection.namespace_name, meaning)->group("Scope");
}

JobName job_of(const std::string& word, const CommandLine& line) {
    Result<JobName> job = parse_job_name(word, line.connection.namespace_name);
    if (!job) throw CLI::ValidationError("NAME", job.error().message);
    return std::move(*job);
}

// The one job of a command; its namespace is the command's.
void set_job(CommandLine& line, std::string& word) {
    JobName job = job_of(word, line);
    word = std::move(job.name);
    line.connection.namespace_name = std::move(job.namespace_name);
}

constexpr const char* kJobNameMeaning = "job or pod name, also NAMESPACE/NAME";

void add_create(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("create", "submit jobs written in YAML");
    command->footer(
        "Examples:\n"
        "  gpuctl create -f train.yaml\n"
        "  gpuctl create -f a.yaml b.yaml -n team-a\n"
        "  gpuctl create -f train.yaml --dry-run      what would be created, and whether it ever "
        "fits");
    command
        ->add_option("-f,--file", line.create.files, "file, several files, or - for standard input")
        ->required();
    command->add_flag("--strict", line.create.strict, "unknown keys are errors, not warnings");
    command->add_flag("--dry-run", line.create.dry_run, "check everything, create nothing");
    add_scope(*command, line, kWhereMade);
    add_output(*command, line, kDocumentsAndNames);
    command->callback([&line] {
        line.create.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_create(c, line.create); };
    });
}

void add_get_kind(CLI::App& get, CommandLine& line, const std::string& kind,
                  const std::string& meaning) {
    CLI::App* command = get.add_subcommand(kind, meaning);
    command->alias(kind.substr(0, kind.size() - 1));
    const std::string meaning_of_name = kind == "jobs"     ? "only this job, also NAMESPACE/NAME"
                                        : kind == "queues" ? "only this queue, also POOL/NAME"
                                                           : "only this one";
    command->add_option("NAME", line.get.name, meaning_of_name);
    if (kind != "pools") {
        command->add_option("--pool", line.get.pool, "only of this pool")->group("Selection");
    }
    if (kind == "jobs") {
        command
            ->add_option(
                "--kind,--type", line.get.job_kind,
                "only training, inference, notebook or compute; pod: pods not created by gpuctl")
            ->check(one_of({"training", "inference", "notebook", "compute", "pod"}))
            ->group("Selection");
        command->add_option("--status", line.get.status, "only with this status")
            ->group("Selection");
        command->add_option("--queue", line.get.queue, "only of this queue, without its sub-queues")
            ->group("Selection");
        command->add_flag("--summary", line.get.summary, "one row per job instead of per pod")
            ->group("Output");
        command->add_flag("--pods", line.get.pods, "one row per pod (the default)")
            ->group("Output");
        add_scope(*command, line);
        command
            ->add_flag("-A,--all-namespaces", line.connection.is_every_namespace,
                       "of all namespaces, ignoring context and environment")
            ->excludes("--namespace")
            ->group("Scope");
    }
    if (kind == "nodes") {
        command->add_option("--gpu-type", line.get.gpu_type, "only nodes with this GPU model")
            ->group("Selection");
    }
    add_output(*command, line, kEvery);
    command->callback([&line, kind] {
        line.get.kind = kind;
        if (kind == "jobs" && !line.get.name.empty()) set_job(line, line.get.name);
        if (kind != "jobs") line.get.name = without_kind(line.get.name, kind);
        line.get.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_get(c, line.get); };
    });
}

void add_get(CLI::App& app, CommandLine& line) {
    CLI::App* get = app.add_subcommand("get", "list jobs, pools, nodes or queues");
    get->footer(
        "Examples:\n"
        "  gpuctl get jobs --pool training\n"
        "  gpuctl get jobs -o wide                    with pool, queue and the reason to wait\n"
        "  gpuctl get queues --json");
    get->require_subcommand(1);
    add_get_kind(*get, line, "jobs", "jobs, a row per pod");
    add_get_kind(*get, line, "pools", "pools with their GPUs");
    add_get_kind(*get, line, "nodes", "nodes with their GPUs");
    add_get_kind(*get, line, "queues", "queues with weights, limits and GPUs held");
}

void add_describe(CLI::App& app, CommandLine& line) {
    CLI::App* describe =
        app.add_subcommand("describe", "show everything about one job, pool or node");
    describe->footer(
        "Examples:\n"
        "  gpuctl describe job llm-sft\n"
        "  gpuctl describe job team-a/llm-sft\n"
        "  gpuctl describe pool training");
    describe->require_subcommand(1);
    for (const std::string kind : {"job", "pool", "node"}) {
        CLI::App* command = describe->add_subcommand(kind, "one " + kind);
        command->alias(kind + "s");
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
            line.verb = [&line](Connection& c) { return run_describe(c, line.describe); };
        });
    }
}

void add_explain(CLI::App& app, CommandLine& line) {
    CLI::App* explain = app.add_subcommand("explain", "say why a job waits, with numbers");
    explain->footer("Example:\n  gpuctl explain job llm-sft");
    explain->require_subcommand(1);
    CLI::App* command = explain->add_subcommand("job", "one job");
    command->alias("jobs");
    command->add_option("NAME", line.explain.job, kJobNameMeaning)->required();
    add_scope(*command, line);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        set_job(line, line.explain.job);
        line.explain.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_explain(c, line.explain); };
    });
}

void add_delete(CLI::App& app, CommandLine& line) {
    CLI::App* remove =
        app.add_subcommand("delete", "delete jobs by name or by the file that declares them");
    remove->footer(
        "Examples:\n"
        "  gpuctl delete job llm-sft\n"
        "  gpuctl delete job a b c -n team-a --force\n"
        "  gpuctl delete job $(gpuctl get jobs --status Failed -o name)\n"
        "  gpuctl delete -f train.yaml");
    remove->add_option("-f,--file", line.remove.files, "delete the jobs these files declare");
    remove->add_flag("--force", line.remove.force, "do not wait for the grace period");
    add_scope(*remove, line);
    add_output(*remove, line, kDocumentsAndNames);
    CLI::App* job = remove->add_subcommand("job", "jobs by name");
    job->alias("jobs");
    job->add_option("NAME", line.job_words, "exact names, also NAMESPACE/NAME")->required();
    job->add_flag("--force", line.remove.force, "do not wait for the grace period");
    add_scope(*job, line);
    add_output(*job, line, kDocumentsAndNames);
    remove->callback([&line] {
        if (line.remove.files.empty() && line.job_words.empty()) {
            throw CLI::ValidationError("delete", "give `delete job NAME` or `delete -f FILE`");
        }
        for (const std::string& word : line.job_words) {
            line.remove.jobs.push_back(job_of(word, line));
        }
        line.remove.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_delete(c, line.remove); };
    });
}

void add_logs(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("logs", "print or follow the log of a job or pod");
    command->footer(
        "Examples:\n"
        "  gpuctl logs llm-sft -f\n"
        "  gpuctl logs team-a/llm-sft\n"
        "  gpuctl logs llm-sft -f --all-pods --grep loss\n"
        "  gpuctl logs llm-sft-x7k2p --tail 1000\n"
        "With --json: one document; when following, one per line.");
    command->add_option("NAME", line.logs.job, kJobNameMeaning)->required();
    command->add_flag("-f,--follow", line.logs.follow,
                      "keep printing; resumes after a lost connection");
    command->add_option("--tail", line.logs.tail, "start with this many of the last lines")
        ->check(whole_number(1, wire::kLogTailMax))
        ->capture_default_str();
    command->add_option("--pod", line.logs.pod, "this pod of the job [the first one]");
    command->add_option("-c,--container", line.logs.container,
                        "this container [the pod's default container, else its first]");
    command->add_flag("--all-pods", line.logs.all_pods,
                      "every pod of the job, each line with its pod's name");
    command->add_option("--grep", line.logs.grep, "only lines that match this regular expression");
    add_scope(*command, line);
    add_output(*command, line, kJson);
    command->callback([&line] {
        set_job(line, line.logs.job);
        line.logs.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_logs(c, line.logs); };
    });
}

void add_version(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("version", "print the versions of gpuctl and gpuctld");
    command->footer(
        "Examples:\n"
        "  gpuctl version\n"
        "  gpuctl version --client --json");
    command->add_flag("--client", line.version.client_only, "do not contact the server");
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.version.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_version(c, line.version); };
    });
}

void add_what_if(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand(
        "what-if",
        "check jobs without submitting them: would they start, where, and what would help");
    command->footer(
        "Examples:\n"
        "  gpuctl what-if -f train.yaml\n"
        "  gpuctl what-if -f train.yaml && gpuctl create -f train.yaml\n"
        "Each job is checked by itself. Exit code 9: one of them would wait.");
    command
        ->add_option("-f,--file", line.what_if.files,
                     "file, several files, or - for standard input")
        ->required();
    command->add_flag("--strict", line.what_if.strict, "unknown keys are errors, not warnings");
    add_scope(*command, line, kWhereMade);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.what_if.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_what_if(c, line.what_if); };
    });
}

void add_preview(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("preview",
                                           "simulate the last hours under another configuration: "
                                           "which jobs would wait less or longer");
    command->footer(
        "Examples:\n"
        "  gpuctl preview --config new.yaml\n"
        "  gpuctl preview --config new.yaml --hours 72 -o json\n"
        "The sections `policy`, `expert.scheduling` and `expert.pools` of the file are simulated; "
        "keys\n"
        "that it leaves out have their defaults. The rest of the file is only checked. Nothing is "
        "changed.");
    command
        ->add_option("--config", line.preview.config_file,
                     "a gpuctld.yaml, or - for standard input")
        ->required();
    command->add_option("--hours", line.preview.hours, "hours to simulate, up to now [24]")
        ->check(whole_number(1, 24 * 31));
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.preview.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_preview(c, line.preview); };
    });
}

void add_replay(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand(
        "replay", "replay a journal offline, and print the hash of the resulting state");
    command->footer(
        "Examples:\n"
        "  gpuctl replay ~/.local/state/gpuctl/embedded\n"
        "  gpuctl replay ~/.local/state/gpuctl/embedded --verify");
    command->add_option("DIRECTORY", line.replay.directory, "the journal's folder")->required();
    command->add_flag("--events", line.replay.events, "print a line for every input");
    command->add_flag("--verify", line.replay.verify,
                      "check every invariant of the state after every input");
    add_output(*command, line, kJson);
    command->callback([&line] { line.replay.format = format_of(line); });
}

void add_connection(CLI::App& app, CommandLine& line) {
    app.add_option("--server", line.connection.server, "address of gpuctld [http://127.0.0.1:8000]")
        ->group("Connection");
    app.add_option("--context", line.connection.context, "context in ~/.config/gpuctl/config.yaml")
        ->group("Connection");
    app.add_option("--token", line.connection.token,
                   "bearer token; safer in GPUCTL_TOKEN or the configuration file")
        ->group("Connection");
    app.add_option("--ca-file", line.connection.ca_file, "CA that signed the server's certificate")
        ->group("Connection");
    app.add_option("--certificate-file", line.connection.certificate_file,
                   "client certificate, for a server that requires one")
        ->group("Connection");
    app.add_option("--key-file", line.connection.key_file, "its key")->group("Connection");
    app.add_flag("--insecure-skip-tls-verify", line.connection.insecure_skip_verify,
                 "do not verify the server's certificate")
        ->group("Connection");
}

}  // namespace

Format format_of(const CommandLine& line) {
    if (line.json || line.output == "json") return Format::json;
    if (line.output == "yaml") return Format::yaml;
    if (line.output == "wide") return Format::wide;
    if (line.output == "name") return Format::name;
    return Format::table;
}

std::unique_ptr<CLI::App> build(CommandLine& line) {
    auto app = std::make_unique<CLI::App>("gpuctl: submit, watch and explain GPU work", "gpuctl");
    app->set_version_flag("--version", "gpuctl " + std::string{kVersion});
    app->require_subcommand(1);
    app->fallthrough();
    app->get_formatter()->column_width(36);
    add_connection(*app, line);
    add_create(*app, line);
    add_get(*app, line);
    add_describe(*app, line);
    add_explain(*app, line);
    add_explain_yaml(*app, line);
    add_what_if(*app, line);
    add_preview(*app, line);
    add_delete(*app, line);
    add_logs(*app, line);
    add_version(*app, line);
    add_replay(*app, line);
    app->footer(
        "`gpuctl COMMAND --help` has examples for each command.\n"
        "Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 conflict, 5 not allowed, 6 timeout,\n"
        "7 server unreachable or busy, 8 some of several failed, 9 a job would wait (what-if),\n"
        "130 interrupted.");
    // Global options are accepted after the verb as well.
    const std::function<void(CLI::App*)> fall_through = [&](CLI::App* parent) {
        for (CLI::App* child : parent->get_subcommands({})) {
            child->fallthrough();
            fall_through(child);
        }
    };
    fall_through(app.get());
    return app;
}

}  // namespace gpuctl::cli
