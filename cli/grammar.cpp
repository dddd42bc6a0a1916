#include "cli/grammar.hpp"

#include <array>
#include <utility>

#include "cli/grammar/help_format.hpp"
#include "cli/grammar/parts.hpp"
#include "cli/grammar_change.hpp"
#include "cli/grammar_explain_yaml.hpp"
#include "cli/grammar_sessions.hpp"
#include "cli/nodes/grammar_nodes.hpp"
#include "cli/policy/grammar_policy.hpp"
#include "cli/usage_error.hpp"
#include "cli/version_number.hpp"
#include "wire/log_limits.hpp"

namespace gpuctl::cli {
namespace {

SharedGrammar shared_grammar() {
    return {
        [](CLI::App& command, CommandLine& line) { add_output(command, line, kDocumentsAndNames); },
        [](CLI::App& command, CommandLine& line, bool of_a_file) {
            add_scope(command, line, of_a_file ? kWhereMade : kWhereLookedFor);
        },
        set_job};
}

void add_create(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand(
        "create", "make what YAML files say: jobs, pools, quotas, queues, namespaces");
    command->footer(
        "Examples:\n"
        "  gpuctl create -f train.yaml\n"
        "  gpuctl create -f a.yaml b.yaml -n team-a\n"
        "  gpuctl create -f pool.yaml                 a pool, a quota, a queue or a namespace\n"
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

void add_explain(CLI::App& app, CommandLine& line) {
    CLI::App* explain = app.add_subcommand("explain", "say why a job waits, with numbers");
    explain->footer("Example:\n  gpuctl explain job llm-sft");
    explain->require_subcommand(1);
    CLI::App* command = explain->add_subcommand("job", "one job");
    command->alias("jobs");
    command->footer(
        "Examples:\n  gpuctl explain job llm-sft\n  gpuctl explain job team-a/llm-sft --json");
    command->add_option("NAME", line.explain.job, kJobNameMeaning)->required();
    add_scope(*command, line);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        set_job(line, line.explain.job);
        line.explain.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_explain(c, line.explain); };
    });
}

void add_delete_wait(CLI::App& command, CommandLine& line) {
    command.add_flag("--wait", line.remove.wait, "return when the jobs are gone");
    command
        .add_option("--timeout", line.timeout,
                    "with --wait: give up after this time, with exit code 6 [30s]")
        ->check(a_duration());
}

void add_delete(CLI::App& app, CommandLine& line) {
    CLI::App* remove = app.add_subcommand(
        "delete", "delete jobs, pools, quotas, queues or namespaces, by name or by file");
    remove->footer(
        "Examples:\n"
        "  gpuctl delete job llm-sft\n"
        "  gpuctl delete job a b c -n team-a --force\n"
        "  gpuctl delete job $(gpuctl get jobs --status Failed -o name)\n"
        "  gpuctl delete pool infer\n"
        "  gpuctl delete -f train.yaml eval.yaml      in the namespaces that they name\n"
        "  gpuctl delete job llm-sft --wait --timeout 2m");
    remove->add_option("-f,--file", line.remove.files, "delete what these files declare");
    remove->add_flag("--force", line.remove.force, "do not wait for the grace period");
    add_delete_wait(*remove, line);
    add_scope(*remove, line);
    add_output(*remove, line, kDocumentsAndNames);
    CLI::App* job = remove->add_subcommand("job", "jobs by name");
    job->alias("jobs");
    job->add_option("NAME", line.job_words, "exact names, also NAMESPACE/NAME")->required();
    job->add_flag("--force", line.remove.force, "do not wait for the grace period");
    job->footer(
        "Examples:\n"
        "  gpuctl delete job llm-sft\n"
        "  gpuctl delete job a b c -n team-a --force\n"
        "  gpuctl delete job llm-sft --wait           until it is gone");
    add_delete_wait(*job, line);
    add_scope(*job, line);
    add_output(*job, line, kDocumentsAndNames);
    remove->callback([&line] {
        if (line.policy.is_chosen) return;
        if (line.remove.files.empty() && line.job_words.empty()) {
            throw CLI::ValidationError("delete", "give `delete job NAME` or `delete -f FILE`");
        }
        for (const std::string& word : line.job_words) {
            line.remove.jobs.push_back(job_of(word, line));
        }
        if (!line.timeout.empty()) line.remove.timeout = duration_of(line.timeout);
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
        "  gpuctl logs llm-sft --since 10m --timestamps\n"
        "  gpuctl logs llm-sft --previous             of the container that crashed\n"
        "With --json: one document; when following, one per line.");
    command->add_option("NAME", line.logs.job, kJobNameMeaning)->required();
    command->add_flag("-f,--follow", line.logs.follow,
                      "keep printing; resumes after a lost connection");
    command
        ->add_option("--tail", line.logs.tail,
                     "start with this many of the last lines [100; with --since all]")
        ->check(whole_number(1, wire::kLogTailMax));
    command->add_option("--since", line.since, "only lines of this last time, such as 10m")
        ->check(a_duration());
    command->add_flag("-p,--previous", line.logs.previous,
                      "of the container before its last restart");
    command->add_flag("--timestamps", line.logs.timestamps, "the time before each line");
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
        if (!line.since.empty()) line.logs.since = duration_of(line.since);
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
    app.add_option("--config", line.connection.config_file,
                   "configuration file [~/.config/gpuctl/config.yaml]")
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
    app.add_option(
           "--color", line.color,
           "color the status in tables: auto, always or never; NO_COLOR is respected [auto]")
        ->check(one_of({"auto", "always", "never"}))
        ->group("Output");
}

}  // namespace

Format format_of(const CommandLine& line) {
    if (line.json) return Format::json;
    constexpr std::array<std::pair<std::string_view, Format>, 7> words{{
        {"json", Format::json},
        {"yaml", Format::yaml},
        {"wide", Format::wide},
        {"name", Format::name},
        {"jsonl", Format::jsonl},
        {"csv", Format::csv},
        {"table", Format::table},
    }};
    for (const auto& [word, format] : words) {
        if (line.output == word) return format;
    }
    if (line.output.starts_with("jsonpath=")) return Format::jsonpath;
    return line.output.starts_with("columns=") ? Format::columns : Format::table;
}

ListOutput list_output_of(const CommandLine& line) {
    ListOutput output = line.get.output;
    output.format = format_of(line);
    output.is_short_form = line.json;
    const std::size_t sign = line.output.find('=');
    if (sign != std::string::npos) output.expression = line.output.substr(sign + 1);
    output.has_header = !line.no_headers;
    output.is_colored = is_colored(line.color);
    return output;
}

std::unique_ptr<CLI::App> build(CommandLine& line) {
    auto app = std::make_unique<CLI::App>("gpuctl: submit, watch and explain GPU work", "gpuctl");
    app->set_version_flag("--version", "gpuctl " + std::string{kVersion});
    app->require_subcommand(1);
    app->fallthrough();
    app->formatter(std::make_shared<HelpFormat>());
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
    add_change_commands(*app, line, shared_grammar());
    add_node_commands(*app, line);
    add_cancel(*app, line);
    add_wait(*app, line);
    add_logs(*app, line);
    add_top(*app, line);
    add_sessions(*app, line);
    add_version(*app, line);
    add_replay(*app, line);
    add_policy_commands(*app, line);
    add_config(*app, line);
    add_doctor(*app, line);
    add_completion(*app, line);
    app->footer(
        "Examples:\n"
        "  gpuctl create -f train.yaml                submit what a file declares\n"
        "  gpuctl get jobs                            what waits and runs\n"
        "  gpuctl explain job llm-sft                 why it waits\n"
        "  gpuctl logs llm-sft -f\n"
        "\n"
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
